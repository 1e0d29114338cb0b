import { getAddress } from 'viem/utils'
import type { Database } from '../../db/database.ts'
import type { ChallengePurpose } from '../../db/schema.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
import { challengeText } from './message.ts'
import { signerOf } from './signature.ts'
import * as store from './store.ts'

/** What challenges need from outside. */
export interface ChallengeDeps {
  readonly db: Database
  readonly random: Random
  /** The address clients use, without a trailing slash; known once the server listens. */
  readonly publicUrl: () => string
}

/** What a wallet is asked to sign, and for whom. */
export interface NewChallenge {
  readonly purpose: ChallengePurpose
  /** In any case. */
  readonly walletAddress: string
  /** Where the signature is sent, as in `/v1/auth/verify`. */
  readonly path: string
  /** One line for the person at the wallet, of letters, digits, spaces and `.,_-`. */
  readonly statement: string
  readonly resources?: readonly string[]
  readonly ownerAccountId?: bigint
  readonly agentAccountId?: bigint
  readonly delegationId?: bigint
}

/** A challenge as its wallet gets it. */
export interface Challenge {
  readonly id: string
  readonly message: string
  /** EIP-55 checksummed. */
  readonly walletAddress: string
  readonly expiresAt: Date
}

const LIFETIME_MS = 5 * 60_000
/** Open at once for one wallet (decisions 2). A sixth takes the oldest one's place: were it refused, anybody could keep a wallet out by asking in its name. */
const OPEN_MAX = 5
const NONCE_BYTES = 16

/** Makes a text to sign: valid for 5 minutes, once. Nothing is revealed about the wallet, known or not. */
export async function openChallenge(deps: ChallengeDeps, wanted: NewChallenge): Promise<Challenge> {
  const walletAddress = wanted.walletAddress.toLowerCase()
  const address = getAddress(walletAddress)
  const id = `chl_${deps.random.uuid().replaceAll('-', '')}`
  const nonce = deps.random.bytes(NONCE_BYTES).toString('hex')
  return deps.db.transaction().execute(async (tx) => {
    const issuedAt = await store.lockWallet(tx, walletAddress)
    const expiresAt = new Date(issuedAt.getTime() + LIFETIME_MS)
    const message = challengeText({
      ...wanted,
      publicUrl: deps.publicUrl(),
      address,
      challengeId: id,
      nonce,
      issuedAt,
      expiresAt,
    })
    await store.insert(tx, { ...wanted, id, walletAddress, message, expiresAt }, OPEN_MAX)
    return { id, message, walletAddress: address, expiresAt }
  })
}

/**
 * The challenge that this signature proves, not used up yet: `consumeChallenge` does that, inside the transaction of
 * what it allows. Refuses with `invalid_challenge` or `invalid_signature`; the fifth wrong signature closes it.
 */
export async function provenChallenge(
  db: Database,
  answer: {
    challengeId: string
    signature: string
    purpose: ChallengePurpose | readonly ChallengePurpose[]
  },
  guarded: Guarded = (_wallet, check) => check(),
): Promise<store.OpenChallenge> {
  const challenge = await store.findOpen(db, answer.challengeId, [answer.purpose].flat())
  if (!challenge) throw new Fault('invalid_challenge')
  return guarded(challenge.wallet_address, async () => {
    if ((await signerOf(challenge.message, answer.signature)) === challenge.wallet_address) return challenge
    await store.countFailure(db, challenge.id)
    throw new Fault('invalid_signature')
  })
}

/** Runs the check of a signature of this wallet, unless the wallet has failed too often. */
type Guarded = <T>(wallet: string, check: () => Promise<T>) => Promise<T>

export { consume as consumeChallenge, type OpenChallenge } from './store.ts'
