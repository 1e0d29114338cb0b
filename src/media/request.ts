import { Fault } from '../kernel/errors.ts'
import type { JsonObject } from '../providers/provider.ts'

/** A request without the fields that are null: those count as not given. */
export const withoutNulls = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined))

/** Checks where the end of a task is to be told. Refuses what is no http(s) address; private ones are refused when it is asked. */
export function webhookUrl(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const parsed = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '')
    throw new Fault('invalid_field', {
      message: `The field ${field} is no http(s) address without user and password.`,
      fields: { field },
    })
  return parsed.href
}
