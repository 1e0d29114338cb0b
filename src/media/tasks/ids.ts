const WIRE_FORM = /^task_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** A task's id as clients have it: `task_` and 32 hexadecimal digits. Ids rise with the time of creation. */
export const taskIdOf = (uuid: string): string => `task_${uuid.replaceAll('-', '')}`

/** The id as the database has it; undefined when the text is no task id. */
export function uuidOf(taskId: string): string | undefined {
  return WIRE_FORM.exec(taskId)?.slice(1).join('-')
}
