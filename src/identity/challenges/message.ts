import type { Address } from 'viem'
import { createSiweMessage } from 'viem/siwe'

/** What a challenge text says. */
export interface ChallengeText {
  /** The address clients use, without a trailing slash: never the Host header, which a stranger chooses. */
  readonly publicUrl: string
  /** Where the signature is sent, as in `/v1/auth/verify`. */
  readonly path: string
  readonly address: Address
  /** One line for the person at the wallet, of letters, digits, spaces and `.,_-`. */
  readonly statement: string
  readonly challengeId: string
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** URIs that say what it is for, where the statement alone would not bind it. */
  readonly resources?: readonly string[]
}

/** EIP-4361 wants a chain: Base, where payments are made by default. Signing in sends nothing to any chain. */
const CHAIN_ID = 8453
/** viem knows neither single names nor IPv6 as a domain, which the standard allows: the real one takes this one's place. */
const STAND_IN = 'domain.example'

/** The EIP-4361 text of a challenge. */
export function challengeText(text: ChallengeText): string {
  const message = createSiweMessage({
    domain: STAND_IN,
    address: text.address,
    statement: text.statement,
    uri: `${text.publicUrl}${text.path}`,
    version: '1',
    chainId: CHAIN_ID,
    nonce: text.nonce,
    issuedAt: text.issuedAt,
    expirationTime: text.expiresAt,
    requestId: text.challengeId,
    ...(text.resources ? { resources: [...text.resources] } : {}),
  })
  return new URL(text.publicUrl).host + message.slice(STAND_IN.length)
}
