import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import type { InputImage, MediaFile } from '../../providers/media.ts'
import { keyOf, type ObjectStore, objectName } from '../../storage/object-store.ts'
import { type Sniffed, sniff } from '../../storage/sniff.ts'
import { type Spooled, SpoolFull, spool, sweep } from '../../storage/spool.ts'
import { type KeptFile, type ResultKeeper, ResultRefused } from '../results-port.ts'
import { decodedDataUrl } from './data-url.ts'
import type { ResultLinks } from './links.ts'

/** What results are kept with. */
export interface ResultDeps {
  readonly store: ObjectStore
  readonly links: ResultLinks
  readonly guardedFetch: GuardedFetch
  /** Where files wait until they are whole and known. */
  readonly spoolFolder: string
  readonly clock: Clock
  readonly random: Random
  readonly keepDays: number
  readonly bytesMax: { readonly image: number; readonly video: number }
  readonly fetchTimeoutMs: number
}

/** Keeps results, and forgets them in time. */
export interface Results extends ResultKeeper {
  /** A picture that a client named, fetched when it is read and only from the public internet. */
  pictureAt(url: string): InputImage
  /** Deletes what is over its time, from the store and from the spool; says how many files. */
  deleteExpired(): Promise<number>
}

const DAY_MS = 86_400_000
const REDIRECTS_MAX = 5
/** As many files are deleted in one go. */
const DELETE_BATCH = 500
/** Nobody writes to a spooled file for so long. */
const SPOOL_LIFE_MS = DAY_MS

/** Keeps results in a store: every file is fetched, measured and known by its bytes before anybody gets a link to it. */
export function createResults(deps: ResultDeps): Results {
  const { store, links, clock } = deps
  return {
    async keep({ taskId, type }, files, signal) {
      const kept: KeptFile[] = []
      for (const [index, file] of files.entries()) {
        kept.push(await keepOne(deps, { name: links.secretName(`${taskId}/${index}`), type, file, signal }))
      }
      return kept
    },
    link: async (file, until) => links.urlOf(file.key, until),
    async read({ key }) {
      const name = objectName(key)
      const content = name && (await store.read(name))
      return content && buffer(content.stream)
    },
    pictureAt: (url) => ({ url, read: (signal) => pictureOf(deps, url, signal).catch(() => undefined) }),
    async deleteExpired() {
      // what expires today is still needed
      const today = dayOf(clock.now())
      let deleted = await sweep(deps.spoolFolder, new Date(clock.now().getTime() - SPOOL_LIFE_MS))
      for (;;) {
        const batch = await store.deleteBefore(today, DELETE_BATCH)
        deleted += batch
        if (batch < DELETE_BATCH) return deleted
      }
    },
  }
}

interface Incoming {
  readonly name: string
  readonly type: 'image' | 'video'
  readonly file: MediaFile
  readonly signal: AbortSignal
}

async function keepOne(deps: ResultDeps, { name, type, file, signal }: Incoming): Promise<KeptFile> {
  const bytesMax = deps.bytesMax[type]
  const spooled = await spool(deps.spoolFolder, deps.random.uuid(), bytesMax)
  try {
    await receive(deps, spooled, { file, bytesMax, signal })
    const sniffed = await sniff(spooled.at)
    if (sniffed?.kind !== type) throw new ResultRefused(`The provider's file is no ${type}.`)
    const finished = await spooled.finish()
    const { contentType, ending, width, height } = sniffed
    // links work until a task's end plus keepDays, and a task ends a little after its files came
    const day = dayOf(new Date(deps.clock.now().getTime() + (deps.keepDays + 1) * DAY_MS))
    const key = { day, file: `${name}.${ending}` }
    await deps.store.put(key, { ...finished, contentType })
    return { key: keyOf(key), contentType, width, height, bytes: finished.bytes }
  } catch (error) {
    if (error instanceof SpoolFull) throw new ResultRefused(`The provider's file is larger than ${bytesMax} bytes.`)
    throw error
  } finally {
    await spooled.discard()
  }
}

async function receive(
  deps: ResultDeps,
  spooled: Spooled,
  { file, bytesMax, signal }: { file: MediaFile; bytesMax: number; signal: AbortSignal },
): Promise<void> {
  if (file.kind === 'bytes') return spooled.write(file.bytes)
  const data = decodedDataUrl(file.url, bytesMax)
  if (data) return spooled.write(data)
  const answer = await deps.guardedFetch.fetch({
    ...request(deps, file.url),
    bodyBytesMax: bytesMax,
    onPiece: (piece) => spooled.write(piece),
    signal,
  })
  if (answer.kind === 'refused') throw new ResultRefused(`The provider's file cannot be fetched: ${answer.message}`)
  if (answer.kind === 'failed' && answer.reason === 'too_large') throw new SpoolFull()
  if (answer.kind === 'failed') throw new Error(`The provider's file cannot be fetched: ${answer.message}`)
  if (answer.status !== 200)
    throw new Error(`The provider's file cannot be fetched: its address answers ${answer.status}.`)
}

const request = ({ fetchTimeoutMs }: ResultDeps, url: string) =>
  ({
    url,
    method: 'GET',
    headersTimeoutMs: fetchTimeoutMs,
    totalTimeoutMs: fetchTimeoutMs,
    redirectsMax: REDIRECTS_MAX,
  }) as const

/** A client's picture with the type that its bytes have; undefined when there is none at the address. */
async function pictureOf(
  deps: ResultDeps,
  url: string,
  signal: AbortSignal | undefined,
): Promise<{ bytes: Uint8Array; contentType: string } | undefined> {
  const bodyBytesMax = deps.bytesMax.image
  let bytes = decodedDataUrl(url, bodyBytesMax)
  if (!bytes) {
    const answer = await deps.guardedFetch.fetch({ ...request(deps, url), bodyBytesMax, ...(signal ? { signal } : {}) })
    if (answer.kind !== 'answer' || answer.status !== 200) return undefined
    bytes = answer.body
  }
  const { buffer: memory, byteOffset } = bytes
  const sniffed: Sniffed | undefined = await sniff(async (offset, length) =>
    Buffer.from(memory, byteOffset, bytes.length).subarray(offset, offset + length),
  )
  return sniffed?.kind === 'image' ? { bytes, contentType: sniffed.contentType } : undefined
}

const dayOf = (time: Date): string => time.toISOString().slice(0, 10)
