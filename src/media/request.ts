import type { JsonObject } from '../providers/provider.ts'

/** A request without the fields that are null: those count as not given. */
export const withoutNulls = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined))

/** The URL as webhooks keep it, or their refusal of it in the name of this field (`invalid_field`). */
export type CheckWebhookUrl = (text: string, field: string) => string

/** Where the end of a task is to be told; undefined where the field is not given. Refuses as webhooks do. */
export function webhookUrl(check: CheckWebhookUrl, field: string, value: unknown): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : check(String(value), field)
}
