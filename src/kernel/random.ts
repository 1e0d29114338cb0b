import { randomBytes, randomUUIDv7 } from 'node:crypto'

/** Unpredictable values, passed in so that tests can repeat a run. */
export interface Random {
  bytes(length: number): Buffer
  /** A UUIDv7: unique, and sortable by creation time. */
  uuid(): string
}

/** The operating system's generator. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  uuid: () => randomUUIDv7(),
}

/** A request id: `req_` and a UUIDv7 without dashes (decisions 0). */
export function requestId(random: Random): string {
  return `req_${random.uuid().replaceAll('-', '')}`
}
