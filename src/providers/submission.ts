/**
 * Whether an answer with this status leaves open what became of a submission: gateways say so of a server that may
 * have begun its work. Every other error of 300 and more means that nothing was begun.
 */
export function submissionIsUncertain(status: number): boolean {
  return [502, 504, 520, 524].includes(status)
}
