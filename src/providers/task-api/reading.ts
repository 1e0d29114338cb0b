import type { MediaEnd, MediaFile } from '../media.ts'
import type { JsonObject } from '../provider.ts'
import type { Scrubber } from '../scrubber.ts'
import type { Standing, StateReading } from './options.ts'
import { valueAt } from './pointer.ts'

/** What an answer says of a job. `unclear`: its word for the state is not one that was described. */
export interface Read {
  readonly standing: Standing | 'unclear'
  readonly progress: number | undefined
}

/** How a job stands by an answer. */
export function standingIn(body: JsonObject, reading: StateReading): Read {
  const word = valueAt(body, reading.state)
  const known = isWord(word) && Object.hasOwn(reading.states, String(word)) ? reading.states[String(word)] : undefined
  const progress =
    reading.progress === undefined ? undefined : Number(valueAt(body, reading.progress)) / reading.progressFull
  return {
    standing: known ?? 'unclear',
    progress: progress !== undefined && progress >= 0 ? Math.min(1, progress) : undefined,
  }
}

const isWord = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

/** The end of a job that succeeded, with the files in the answer. Without one it is a failure of which nobody knows the price. */
export function successIn(body: JsonObject, reading: Pick<StateReading, 'files' | 'units'>, name: string): MediaEnd {
  const files = filesIn(reading.files === undefined ? undefined : valueAt(body, reading.files))
  const units = reading.units === undefined ? undefined : Number(valueAt(body, reading.units))
  if (files.length === 0)
    return { kind: 'failed', code: 'no_result', message: `${name} finished without a file.`, billed: undefined }
  return {
    kind: 'succeeded',
    files,
    units: units !== undefined && units > 0 && Number.isFinite(units) ? units : undefined,
  }
}

/** The end of a job that failed, in the provider's words, cleaned. */
export function failureIn(
  body: JsonObject,
  reading: Pick<StateReading, 'errorCode' | 'errorMessage'>,
  { name, scrubber, billed }: { name: string; scrubber: Scrubber; billed: boolean | undefined },
): MediaEnd {
  const message = scrubber.clean(textAt(body, reading.errorMessage))
  const code = scrubber.clean(textAt(body, reading.errorCode)).slice(0, CODE_LENGTH_MAX)
  return { kind: 'failed', code: code || 'provider_failed', message: message || `${name} could not make it.`, billed }
}

/** Text that a pointer leads to; empty where there is none. */
export function textAt(body: JsonObject, pointer: string | undefined): string {
  const value = pointer === undefined ? undefined : valueAt(body, pointer)
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const CODE_LENGTH_MAX = 64
const FILES_MAX = 16

function filesIn(value: unknown): MediaFile[] {
  const entries = Array.isArray(value) ? value.flat(2) : [value]
  const urls = entries.map((entry) =>
    typeof entry === 'object' && entry !== null && 'url' in entry ? entry.url : entry,
  )
  return urls
    .filter((url) => typeof url === 'string' && url !== '')
    .slice(0, FILES_MAX)
    .map((url) => ({ kind: 'url', url: String(url) }))
}
