import { Type } from 'typebox'
import { MICROCREDITS_MAX, toJsonInteger } from '../kernel/money.ts'

// The kinds of values that farebox.yaml is made of. A `fallback` makes a key that may be left out.

const DAY_MS = 86_400_000
const TOKENS_MAX = 100_000_000

/** What names a provider. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

/** What names an environment variable that holds a secret. */
export const ENVIRONMENT_NAME = '^[A-Za-z_][A-Za-z0-9_]{0,127}$'

/** An object that refuses keys it does not know. */
export const Keys = <P extends Parameters<typeof Type.Object>[0]>(
  properties: P,
  options: { description?: string; default?: object } = {},
) => Type.Object(properties, { additionalProperties: false, ...options })

/** Microcredits per million tokens: whole, and small enough for a JSON integer to carry exactly (decisions 0). */
export const Price = (description: string) =>
  Type.Integer({ minimum: 0, maximum: toJsonInteger(MICROCREDITS_MAX), description })

/** A number of tokens, `minimum` or more. */
export const Tokens = (description: string, { minimum, fallback }: { minimum: 0 | 1; fallback?: number }) =>
  Type.Integer({
    minimum,
    maximum: TOKENS_MAX,
    description,
    ...(fallback === undefined ? {} : { default: fallback }),
  })

/** A pause in milliseconds, up to a day; 0 is none. */
export const Pause = (description: string, fallback: number) =>
  Type.Integer({ minimum: 0, maximum: DAY_MS, description, default: fallback })

/** A time limit in milliseconds, up to a day. There is no "none": every outside call has a limit. */
export const Timeout = (description: string, fallback: number) =>
  Type.Integer({ minimum: 1, maximum: DAY_MS, description, default: fallback })

/** A rate limit whose default depends on the mode, so the schema has none. */
export const PerMinute = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000, description }))

/** A size in bytes from 1 KiB to 100 MiB. */
export const Bytes = (description: string, fallback: number) =>
  Type.Integer({ minimum: 1024, maximum: 104_857_600, description, default: fallback })
