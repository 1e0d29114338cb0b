import type { Authorization } from '../../chains/authorizations/authorization.ts'
import { Fault } from '../../kernel/errors.ts'

/** A proof of payment as a client sent it, by shape only: whether it is any good is decided elsewhere. */
export interface Proof {
  readonly version: 1 | 2
  readonly scheme: string
  readonly network: string
  readonly authorization: Authorization
  readonly signature: string
  /** The terms that a version 2 client says it took. */
  readonly accepted: { readonly asset: string; readonly payTo: string; readonly amount: string } | undefined
}

/** A longer header is no proof. */
const HEADER_MAX = 8_192
const UINT256_MAX = 2n ** 256n

/** The header that a proof came in, and the one that its answer goes out in. */
export const headersOf = {
  2: { proof: 'payment-signature', response: 'PAYMENT-RESPONSE' },
  1: { proof: 'x-payment', response: 'X-PAYMENT-RESPONSE' },
} as const

/** JSON as x402 puts it into a header: standard base64 with padding. */
export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

/** Reads a proof; undefined when neither header is there. Refuses what has the wrong shape with `invalid_payment`. */
export function readProof(headers: Readonly<Record<string, unknown>>): Proof | undefined {
  const version = headers[headersOf[2].proof] !== undefined ? 2 : 1
  const { proof: name } = headersOf[version]
  const text = headers[name]
  if (text === undefined) return undefined
  const refuse = refusing(name)
  if (typeof text !== 'string' || text.length > HEADER_MAX) throw refuse(`is longer than ${HEADER_MAX} characters`)
  if (text === '' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw refuse('is not standard base64')
  const payload = object(parsed(text, refuse), 'the payload', refuse)
  if (payload.x402Version !== version) throw refuse(`says x402Version ${shown(payload.x402Version)}, not ${version}`)
  const accepted = version === 2 ? object(payload.accepted, 'accepted', refuse) : undefined
  const { scheme, network } = accepted ?? payload
  const inner = object(payload.payload, 'payload', refuse)
  const signature = string(inner.signature, 'payload.signature', refuse)
  return {
    version,
    scheme: string(scheme, 'scheme', refuse),
    network: string(network, 'network', refuse),
    authorization: authorizationFrom(object(inner.authorization, 'payload.authorization', refuse), refuse),
    signature: signature.toLowerCase(),
    accepted: accepted && {
      asset: string(accepted.asset, 'accepted.asset', refuse),
      payTo: string(accepted.payTo, 'accepted.payTo', refuse),
      amount: string(accepted.amount, 'accepted.amount', refuse),
    },
  }
}

type Refuse = (what: string) => Fault

const refusing =
  (header: string): Refuse =>
  (what) =>
    new Fault('invalid_payment', { message: `The header ${header.toUpperCase()} ${what}. Nothing was sent.` })

function parsed(text: string, refuse: Refuse): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
  } catch {
    throw refuse('is not base64 of JSON')
  }
}

function object(value: unknown, what: string, refuse: Refuse): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(`has no object ${what}`)
  return value as Readonly<Record<string, unknown>>
}

function string(value: unknown, what: string, refuse: Refuse): string {
  if (typeof value !== 'string') throw refuse(`has no text ${what}`)
  return value
}

function authorizationFrom(value: Readonly<Record<string, unknown>>, refuse: Refuse): Authorization {
  const matching = (member: string, pattern: RegExp, takes: string): string => {
    const text = value[member]
    if (typeof text !== 'string' || !pattern.test(text))
      throw refuse(`has an authorization whose ${member} is ${takes}`)
    return text.toLowerCase()
  }
  const address = (member: string) => matching(member, /^0x[0-9a-fA-F]{40}$/, 'no address')
  const number = (member: string): bigint => {
    const amount = BigInt(matching(member, /^\d{1,78}$/, 'no decimal string'))
    if (amount >= UINT256_MAX) throw refuse(`has an authorization whose ${member} is too large`)
    return amount
  }
  return {
    payer: address('from'),
    recipient: address('to'),
    value: number('value'),
    validAfter: number('validAfter'),
    validBefore: number('validBefore'),
    nonce: matching('nonce', /^0x[0-9a-fA-F]{64}$/, 'no 32 bytes'),
  }
}

const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : 'nothing that is a number')
