import { type Static, type TSchema, Type } from 'typebox'

/** The JSON forms of our values, field by field as the spec types them (decisions 0). */

/** An amount or id as a JSON integer, exact below 2^53. */
export const Integer = (description?: string) =>
  Type.Integer({
    minimum: -Number.MAX_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    ...(description ? { description } : {}),
  })

/** An amount in microcredits: 1 Credit = 1000000. */
export const Micro = (description = 'Microcredits: 1 Credit = 1000000') =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

/** An RFC 3339 time in UTC. */
export const Time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description ? { description } : {}) })

/** A value or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** A path or query parameter that is an id: digits only, at least 1. */
export const IdParameter = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** Members of an object body or reply, no others. */
export const Closed = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** `{}` or nothing. */
export const Empty = Closed({})

/** Query of endpoints that page by number (decisions 0). */
export const PageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
}

/** Entries of a page where the caller does not say. */
const CURSOR_LIMIT = 50

/** Query of endpoints that page by cursor (decisions 0): from the newest on, below an id. `readCursor` reads it. */
export const CursorQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: CURSOR_LIMIT })),
  before_id: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'next_cursor of the page before; 0 is the first page',
    }),
  ),
}

/** What `CursorQuery` asks for; `beforeId` undefined is the first page. */
export const readCursor = (query: {
  readonly limit?: number
  readonly before_id?: number
}): { readonly limit: number; readonly beforeId: bigint | undefined } => ({
  limit: query.limit ?? CURSOR_LIMIT,
  beforeId: query.before_id ? BigInt(query.before_id) : undefined,
})

/** An id or amount as a JSON number; throws when it would lose precision. */
export function integer(value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} does not fit a JSON integer`)
  return number
}

/** The type a schema describes. */
export type Of<T extends TSchema> = Static<T>
