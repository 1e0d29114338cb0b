import { NodeUnavailable } from './chain.ts'

// A node's answers are a stranger's words: each value is checked where it is read, and texts become lower case.

/** An object of a node's answer, its members unchecked. */
export type Raw = Readonly<Record<string, unknown>>

/** The object that an answer must be. */
export function objectOf(value: unknown): Raw {
  if (typeof value !== 'object' || value === null) throw nonsense('an object')
  return value as Raw
}

/** The list that an answer must be. */
export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw nonsense('a list')
  return value
}

/** Hex digits of any length, in lower case: hashes, addresses, code, calls. */
export function textOf(value: unknown): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]*$/.test(value)) throw nonsense('hex digits')
  return value.toLowerCase()
}

/** A number in hex digits, exactly. */
export function numberOf(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw nonsense('a number')
  return BigInt(value)
}

/** The address in a 32-byte topic. */
export function addressOf(topic: unknown): string {
  const text = textOf(topic)
  if (text.length !== 66) throw nonsense('a topic')
  return `0x${text.slice(26)}`
}

/** A time in Unix seconds. */
export function timeOf(value: unknown): Date {
  const seconds = numberOf(value)
  if (seconds > 253_402_300_799n) throw nonsense('a time')
  return new Date(Number(seconds) * 1000)
}

function nonsense(expected: string): NodeUnavailable {
  return new NodeUnavailable(`the node answers something that is not ${expected}`)
}
