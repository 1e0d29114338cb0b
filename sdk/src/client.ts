import { type Chat, createChat } from './chat.ts'
import { type Credits, createCredits } from './credits.ts'
import { createOrders, type Orders } from './orders.ts'
import { type Answer, type Call, createRequests } from './requests.ts'
import { createSession, type Session, type Signer, type TokenStore } from './session.ts'
import { createTasks, type Tasks } from './tasks.ts'
import { createTransport, type TransportOptions } from './transport.ts'
import { resume, type SignedPayment, type TopUp, type TopUpRequest, type TypedDataSigner, topUp } from './x402.ts'

/** Who the client is: a wallet, an API key, a session kept in a store, or nobody yet. Never put a key into a browser. */
export interface FareboxOptions extends TransportOptions {
  /** Is used for all that takes a key; what takes a session is sent in one where there is a wallet, too. */
  readonly apiKey?: string
  /** Signs in when it is needed, and again when the session is over; pays by x402. An account of viem is one. */
  readonly wallet?: Signer & TypedDataSigner
  /** Where the session's tokens are kept between runs; in memory unless given. */
  readonly tokens?: TokenStore
}

/** A client of one Farebox server. */
export interface Farebox extends Chat {
  /** Sign in by wallet, renew, sign out. */
  readonly auth: Session
  readonly credits: Credits
  readonly orders: Orders
  readonly tasks: Tasks
  models(): Promise<Answer<'/v1/models', 'get'>>
  /** Pays by x402 with the client's wallet, which needs tokens and nothing else: no gas, no account, no session. */
  topUp(request: TopUpRequest): Promise<TopUp>
  /** Sends a payment of before again, instead of signing another. */
  resumeTopUp(payment: SignedPayment, options?: { readonly signal?: AbortSignal }): Promise<TopUp>
  /** Any endpoint that has no method of its own, typed. */
  readonly request: Call
}

/** Opens a client. Nothing is sent before the first call. */
export function createFarebox(options: FareboxOptions): Farebox {
  const { apiKey, tokens, wallet } = options
  const transport = createTransport(options)
  const auth = createSession(transport, tokens, wallet)
  const requests = createRequests(transport, auth, { apiKey, canSignIn: wallet !== undefined })
  return {
    auth,
    credits: createCredits(requests),
    orders: createOrders(requests),
    tasks: createTasks(requests),
    ...createChat(requests),
    models: () => transport.json({ path: '/v1/models' }),
    async topUp(request) {
      if (!wallet) throw new TypeError('topUp needs a wallet: give one to createFarebox.')
      return topUp(transport, wallet, request)
    },
    resumeTopUp: (payment, { signal } = {}) => resume(transport, payment, signal),
    request: requests.call,
  }
}
