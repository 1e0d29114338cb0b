import type { paths } from './api.d.ts'
import { approvedByOwner, type DeviceLogin } from './device-login.ts'
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
  /**
   * Runs one such piece of work at a time over all processes that share the store: a lock, such as a file's. Without
   * one, of processes that refresh at the same moment one goes on and the others may have to sign in again.
   */
  exclusively?<T>(work: () => Promise<T>): Promise<T>
}

type SignedIn = paths['/v1/auth/verify']['post']['responses'][200]['content']['application/json']

/** Who signed in. */
export type Account = SignedIn['account']

/** A revocable login session (spec 3.6), renewed when it must be, one refresh at a time. */
export interface Session {
  /** The token to send. Signs in where a wallet was given and nobody is; else rejects with AuthenticationError. */
  accessToken(): Promise<string>
  /** Another token than the one that was refused. */
  renew(refused: string): Promise<string>
  /**
   * Proves the wallet, that of the client unless another is given, and begins a session. An unknown wallet becomes an
   * Agent account. `apiKey` is the account's first key, shown this once, else "".
   */
  signIn(signer?: Signer): Promise<{ readonly account: Account; readonly apiKey: string }>
  /** Has an owner approve this program in the console, and begins a session as that owner. Rejects with `access_denied` or `expired_token` in `code`. */
  signInByDevice(login: DeviceLogin): Promise<{ readonly account: Account }>
  /** Ends the session on the server; the tokens are forgotten once it has confirmed, or says that they are worth nothing. */
  signOut(): Promise<void>
}

const EARLY_MS = 60_000
const OVER =
  'The session is over, or the answer of its refresh was lost (a refresh token works once): call auth.signIn() again. API keys are not affected.'
const NOBODY = 'Nobody is signed in, and this takes a session (an API key is not enough): call auth.signIn() first.'

/** Opens the session of a store. With a wallet it begins by itself, and again when it is over. */
export function createSession(transport: Transport, store: TokenStore = memoryStore(), wallet?: Signer): Session {
  // refreshes and sign-ins run one after the other: a refresh token can be exchanged once
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const alone = () => (store.exclusively ? store.exclusively(work) : work())
    const mine = turn.then(alone, alone)
    turn = mine.catch(() => undefined)
    return mine
  }
  // what is asked here may be asked again: a second challenge replaces the first, a consumed token is refused
  const post = <T>(path: string, body: unknown, repeatable = true): Promise<T> =>
    transport.json<T>({ method: 'POST', path, body, repeatable })
  const keep = async ({ tokens }: SignedIn): Promise<string> => {
    await store.write({
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      expiresAt: transport.now() + tokens.expires_in * 1000,
    })
    return tokens.access_token
  }
  const signIn = async (signer: Signer): Promise<SignedIn> => {
    const challenge = await post<{ challenge_id: string; message: string }>('/v1/auth/challenge', {
      wallet_address: signer.address,
    })
    const signature = await signer.signMessage({ message: challenge.message })
    return post('/v1/auth/verify', { challenge_id: challenge.challenge_id, signature }, false)
  }
  const begun = async (why: AuthenticationError): Promise<string> => {
    if (!wallet) throw why
    return keep(await signIn(wallet))
  }
  const refresh = async (tokens: Tokens): Promise<string> => {
    try {
      return await keep(await post<SignedIn>('/v1/auth/refresh', { refresh_token: tokens.refreshToken }))
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error
      // another process of the same store may have been faster
      const kept = await store.read()
      if (kept && kept.refreshToken !== tokens.refreshToken) return kept.accessToken
      return begun(new AuthenticationError(401, { ...error.body, message: OVER }, undefined, { cause: error }))
    }
  }
  const fresh = (isStale: (tokens: Tokens) => boolean): Promise<string> =>
    inTurn(async () => {
      const tokens = await store.read()
      if (!tokens) return begun(new AuthenticationError(401, { code: 'unauthorized', message: NOBODY }))
      return isStale(tokens) ? refresh(tokens) : tokens.accessToken
    })
  const isOld = ({ expiresAt }: Tokens): boolean => expiresAt - EARLY_MS < transport.now()

  return {
    async accessToken() {
      const tokens = await store.read()
      return tokens && !isOld(tokens) ? tokens.accessToken : fresh(isOld)
    },
    renew: (refused) => fresh(({ accessToken }) => accessToken === refused),
    signIn: (signer = wallet) =>
      inTurn(async () => {
        if (!signer) throw new TypeError('signIn needs a wallet: give one to it, or to createFarebox.')
        const answer = await signIn(signer)
        await keep(answer)
        return { account: answer.account, apiKey: answer.tokens.api_key }
      }),
    async signInByDevice(login) {
      // a person takes minutes: nobody waits in line meanwhile
      const answer = await approvedByOwner(transport, login)
      await inTurn(() => keep(answer))
      return { account: answer.account }
    },
    signOut: () =>
      inTurn(async () => {
        const tokens = await store.read()
        if (!tokens) return
        try {
          await post('/v1/auth/logout', { refresh_token: tokens.refreshToken })
        } catch (error) {
          if (!(error instanceof AuthenticationError)) throw error
        }
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
