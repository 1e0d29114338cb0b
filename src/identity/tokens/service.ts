import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../kernel/clock.ts'
import type { Keyring } from './keyring.ts'
import { type TokenKind, tokenKinds } from './kinds.ts'

/** A token whose signature, kind and expiry were checked. What its claims mean is for its readers to check. */
export interface Verified {
  /** The account that it speaks of. */
  readonly accountId: bigint
  readonly claims: Readonly<JWTPayload>
  readonly expiresAt: Date
}

/** What is put into a token. */
export interface NewToken {
  readonly accountId: bigint
  /** Members of its own; the registered ones are set here. */
  readonly claims: Readonly<Record<string, string | number>>
  /** The database's time, so that servers need not agree on theirs. */
  readonly issuedAt: Date
  /** Ends it before its kind's lifetime does. */
  readonly notAfter?: Date
}

/** Signs and verifies every kind of token. */
export interface Tokens {
  sign(kind: TokenKind, token: NewToken): Promise<string>
  /** undefined for whatever is no valid token of this kind: forged, expired, of another kind, or no token at all. */
  verify(kind: TokenKind, token: string): Promise<Verified | undefined>
}

const ALGORITHM = 'EdDSA'
const TOKEN_LENGTH_MAX = 4096
const ACCOUNT_ID = /^[1-9]\d{0,15}$/
/** As many verified access tokens are remembered: it saves the arithmetic of a signature, and decides nothing. */
const REMEMBERED_MAX = 10_000

class UnknownKey extends Error {}

interface TokenDeps {
  readonly keyring: Keyring
  readonly clock: Clock
}

/** Tokens as JWTs under the keys of this ring. The algorithm is fixed: what a token's header says cannot change it. */
export function createTokens(deps: TokenDeps): Tokens {
  const { keyring, clock } = deps
  const remembered = new Map<string, { kid: string; verified: Verified }>()

  return {
    async sign(kind, { accountId, claims, issuedAt, notAfter }) {
      const { typ, audience, lifetimeSeconds } = tokenKinds[kind]
      const key = await keyring.active()
      const issued = Math.floor(issuedAt.getTime() / 1000)
      const expires = Math.min(
        issued + lifetimeSeconds,
        notAfter ? Math.floor(notAfter.getTime() / 1000) : Number.POSITIVE_INFINITY,
      )
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: ALGORITHM, typ, kid: key.kid })
        .setSubject(accountId.toString())
        .setAudience(audience)
        .setIssuedAt(issued)
        .setExpirationTime(expires)
        .sign(key.privateKey)
    },
    async verify(kind, token) {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const known = kind === 'access' ? remembered.get(token) : undefined
      if (known && known.verified.expiresAt > clock.now()) {
        if (await keyring.find(known.kid)) return known.verified
        // a key that was dropped since then takes its tokens with it
        remembered.delete(token)
        return undefined
      }
      try {
        const checked = await check(deps, kind, token)
        if (kind === 'access') {
          if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string)
          remembered.set(token, checked)
        }
        return checked.verified
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof UnknownKey) return undefined
        throw error
      }
    },
  }
}

async function check(
  { keyring, clock }: TokenDeps,
  kind: TokenKind,
  token: string,
): Promise<{ kid: string; verified: Verified }> {
  const { typ, audience } = tokenKinds[kind]
  const findKey = async ({ kid }: { kid?: string }) => {
    const key = kid === undefined ? undefined : await keyring.find(kid)
    if (!key) throw new UnknownKey()
    return key.publicKey
  }
  const { payload, protectedHeader } = await jwtVerify(token, findKey, {
    algorithms: [ALGORITHM],
    typ,
    audience,
    currentDate: clock.now(),
    requiredClaims: ['sub', 'exp', 'iat'],
  })
  if (!ACCOUNT_ID.test(payload.sub ?? '')) throw new errors.JWTInvalid('the subject is no account')
  const verified = {
    accountId: BigInt(payload.sub ?? ''),
    claims: payload,
    expiresAt: new Date((payload.exp ?? 0) * 1000),
  }
  return { kid: protectedHeader.kid ?? '', verified }
}
