import type { Clock } from '../../../kernel/clock.ts'

/** An address that answers GET with JSON, and where in it the rate is. */
interface HttpSource {
  readonly url: string
  /** JSON Pointers. */
  readonly pointer: string
  readonly timePointer?: string
  readonly timeoutMs: number
}

const ANSWER_BYTES_MAX = 64 * 1024
const EXPONENT_MAX = 30
/** Decimal places of a rate. */
export const RATE_PLACES = 18
/** Above a trillion dollars for a coin the source is wrong. */
export const RATE_MAX = 10n ** 30n

/** Asks one source, within its timeout and 64 KiB. Throws with a reason that names no address. */
export async function readHttpSource(source: HttpSource, clock: Clock): Promise<{ rate: bigint; observedAt: Date }> {
  const askedAt = clock.now()
  let text: string
  try {
    const response = await fetch(source.url, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      // covers the body as well
      signal: AbortSignal.timeout(source.timeoutMs),
    })
    if (response.status !== 200) throw new Refused(`it answered ${response.status}`)
    text = await limitedText(response)
  } catch (error) {
    if (error instanceof Refused) throw error
    // the cause of a failed fetch may name the address, which may hold a key: it is not passed on
    throw new Refused((error as Error).name === 'TimeoutError' ? 'it did not answer in time' : 'it cannot be reached')
  }
  const body = parsed(text)
  const rate = exactRate(at(body, source.pointer))
  if (rate === undefined || rate <= 0n || rate > RATE_MAX) throw new Refused('there is no price where it should be')
  if (source.timePointer === undefined) return { rate, observedAt: askedAt }
  const seconds = Number(at(body, source.timePointer))
  if (!(seconds > 0 && seconds < 253_402_300_799)) throw new Refused('there is no time where it should be')
  return { rate, observedAt: new Date(Math.floor(seconds * 1000)) }
}

class Refused extends Error {
  override name = 'Refused'
}

async function limitedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Refused(`it answered with more than ${ANSWER_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Parses JSON with numbers as the digits that were sent: a float would round them. */
function parsed(text: string): unknown {
  // typings do not know the third argument yet
  const digits = ((_key: string, value: unknown, context: { source?: string }) =>
    typeof value === 'number' ? (context.source ?? String(value)) : value) as (key: string, value: unknown) => unknown
  try {
    return JSON.parse(text, digits)
  } catch {
    throw new Refused('it answered with no JSON')
  }
}

function at(body: unknown, pointer: string): unknown {
  let value = body
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** A decimal in digits as a whole number with 18 places. What is beyond them is cut off: a lower rate asks for more coins. */
function exactRate(value: unknown): bigint | undefined {
  const match = typeof value === 'string' ? /^(\d{1,40})(?:\.(\d{1,80}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(value) : null
  if (!match) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (Math.abs(Number(exponent)) > EXPONENT_MAX) return undefined
  const shift = RATE_PLACES + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift)
}
