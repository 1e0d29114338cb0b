import type { ChatOutcome } from '../provider.ts'

/** What a message to the model `failing` asks for: an ending, or one that takes time or needs an answer first. */
export interface Instruction {
  readonly outcome: Extract<ChatOutcome, { kind: 'refused' }> | 'cut' | 'timeout'
}

/**
 * Reads `fail:<status>` (400 to 599), `fail:refused` (nobody answers), `fail:cut` (the answer breaks off: a
 * stream in the middle, a plain answer as lost) and `fail:timeout`. Without one of them the model answers.
 */
export function instructionIn(text: string): Instruction | undefined {
  const word = /\bfail:(refused|cut|timeout|[45]\d\d)\b/.exec(text)?.[1]
  if (word === undefined) return undefined
  if (word === 'cut' || word === 'timeout') return { outcome: word }
  const status = word === 'refused' ? undefined : Number(word)
  return {
    outcome: {
      kind: 'refused',
      status,
      message:
        status === undefined
          ? 'The demo provider could not be reached, as asked.'
          : `The demo provider answered ${status}, as asked.`,
      retryable: status === undefined || status >= 500 || [408, 409, 429].includes(status),
      ...(status === 429 ? { retryAfterMs: 1000 } : {}),
    },
  }
}
