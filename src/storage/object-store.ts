/**
 * The name of a kept file: the last day on which it is needed, and a name. Files of one day are found and deleted
 * together, so nobody has to remember them one by one.
 */
export interface ObjectName {
  /** UTC, as 2026-11-27. */
  readonly day: string
  /** With its ending: letters, digits, `-` and `_`, a dot and the ending. */
  readonly file: string
}

/** A file on the local disk, ready to be kept. */
export interface FinishedFile {
  readonly path: string
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
  readonly contentType: string
}

/** Part of an object, both ends included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

/** An object that is being read. */
export interface ObjectContent {
  /** Of the whole object. */
  readonly bytes: number
  /** The bytes that were asked for. Destroy it when they are not wanted any more. */
  readonly stream: NodeJS.ReadableStream & { destroy(): unknown }
}

/** Keeps files under names. The content of a name never changes. Methods throw StoreUnavailable when it cannot be reached. */
export interface ObjectStore {
  /** Takes the file over; it is durable when this resolves. What has this name already is replaced. */
  put(name: ObjectName, file: FinishedFile): Promise<void>
  /** How many bytes an object has; undefined: there is none. */
  size(name: ObjectName): Promise<number | undefined>
  /** Opens an object, or the part of it that `range`, within its size, names; undefined: there is none. */
  read(name: ObjectName, range?: ByteRange): Promise<ObjectContent | undefined>
  /** Deletes objects of days before `day`, `limit` at most, and says how many; fewer than `limit`: none is left. */
  deleteBefore(day: string, limit: number): Promise<number>
  close(): Promise<void>
}

/** The store cannot be reached or does not work now. Its message names neither key nor signature. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

const DAY = /^\d{4}-\d\d-\d\d$/
const FILE = /^[A-Za-z0-9_-]{1,100}\.[a-z0-9]{1,8}$/

/** The name that a key such as `2026-11-27/abc.png` stands for; undefined for any other text. */
export function objectName(key: string): ObjectName | undefined {
  const [day = '', file = '', ...rest] = key.split('/')
  return DAY.test(day) && FILE.test(file) && rest.length === 0 ? { day, file } : undefined
}

/** Whether text is a day as names have it. */
export const isDay = (text: string): boolean => DAY.test(text)

/** The key of a name. */
export const keyOf = ({ day, file }: ObjectName): string => `${day}/${file}`
