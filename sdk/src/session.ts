import type { paths } from './api.d.ts'
import { AuthenticationError } from './errors.ts'
import type { Transport } from './transport.ts'

/** What signs: an account of viem, or anything that signs a text by EIP-191. */
export interface Signer {
  readonly address: string
  signMessage(text: { message: string }): Promise<string>
}

/** The tokens of a session. Both change with every refresh: store them together, before they are used. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Where tokens are kept between runs. Without one they live as long as the client. */
export interface TokenStore {
  read(): Promise<Tokens | undefined>
  write(tokens: Tokens | undefined): Promise<void>
}

type SignedIn = paths['/v1/auth/verify']['post']['responses'][200]['content']['application/json']

/** Who signed in. */
export type Account = SignedIn['account']

/** A revocable login session (spec 3.6), renewed when it must be, one refresh at a time. */
export interface Session {
  /** The token to send. Rejects with AuthenticationError when nobody is signed in, or the session is over. */
  accessToken(): Promise<string>
  /** Another token than the one that was refused. */
  renew(refused: string): Promise<string>
  /** Proves the wallet and begins a session; an unknown wallet becomes an Agent account. `apiKey` is the account's first key, shown this once, else "". */
  signIn(signer: Signer): Promise<{ account: Account; apiKey: string }>
  /** Ends the session on the server; the tokens are forgotten once it has confirmed. */
  signOut(): Promise<void>
}

const EARLY_MS = 60_000

/** Opens the session of a store. */
export function createSession(transport: Transport, store: TokenStore = memoryStore()): Session {
  // refreshes and sign-ins run one after the other: a refresh token can be exchanged once
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work, work)
    turn = mine.catch(() => undefined)
    return mine
  }
  const keep = async ({ tokens }: SignedIn): Promise<Tokens> => {
    const kept = {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      expiresAt: Date.now() + tokens.expires_in * 1000,
    }
    await store.write(kept)
    return kept
  }
  const current = async (): Promise<Tokens> => {
    const tokens = await store.read()
    if (tokens) return tokens
    throw new AuthenticationError(401, { code: 'unauthorized', message: 'Nobody is signed in: call signIn first.' })
  }
  const refreshed = (isStale: (tokens: Tokens) => boolean): Promise<string> =>
    inTurn(async () => {
      const tokens = await current()
      if (!isStale(tokens)) return tokens.accessToken
      const body = { refresh_token: tokens.refreshToken }
      const answer = await transport.json<SignedIn>({ method: 'POST', path: '/v1/auth/refresh', body })
      return (await keep(answer)).accessToken
    })

  return {
    async accessToken() {
      const tokens = await current()
      const stale = ({ expiresAt }: Tokens) => expiresAt - EARLY_MS < Date.now()
      return stale(tokens) ? refreshed(stale) : tokens.accessToken
    },
    renew: (refused) => refreshed(({ accessToken }) => accessToken === refused),
    signIn: (signer) =>
      inTurn(async () => {
        const challenge = await transport.json<{ challenge_id: string; message: string }>({
          method: 'POST',
          path: '/v1/auth/challenge',
          body: { wallet_address: signer.address },
        })
        const signature = await signer.signMessage({ message: challenge.message })
        const body = { challenge_id: challenge.challenge_id, signature }
        const answer = await transport.json<SignedIn>({ method: 'POST', path: '/v1/auth/verify', body })
        await keep(answer)
        return { account: answer.account, apiKey: answer.tokens.api_key }
      }),
    signOut: () =>
      inTurn(async () => {
        const tokens = await store.read()
        if (!tokens) return
        const body = { refresh_token: tokens.refreshToken }
        await transport.json({ method: 'POST', path: '/v1/auth/logout', body })
        await store.write(undefined)
      }),
  }
}

/** Keeps tokens in memory. */
export function memoryStore(): TokenStore {
  let kept: Tokens | undefined
  return {
    read: async () => kept,
    write: async (tokens) => {
      kept = tokens
    },
  }
}
