import { createOrders, type Orders } from './orders.ts'
import { type Answer, createRequests, type Requests } from './requests.ts'
import { createSession, type Session, type TokenStore } from './session.ts'
import { createTasks, type Tasks } from './tasks.ts'
import { createTransport, type TransportOptions } from './transport.ts'
import { type TopUp, type TopUpRequest, type TypedDataSigner, topUp } from './x402.ts'

/** Who the client is: an API key, a session kept in a store, or nobody yet. Never put a key into a browser. */
export interface FareboxOptions extends TransportOptions {
  readonly apiKey?: string
  readonly tokens?: TokenStore
}

/** A client of one Farebox server. */
export interface Farebox {
  /** Sign in by wallet, renew, sign out. */
  readonly auth: Session
  readonly orders: Orders
  readonly tasks: Tasks
  /** Any endpoint that has no method of its own. */
  readonly request: Requests['json']
  /** An answer in OpenAI's form, with `usage.cost_micro`. */
  chat(body: ChatBody, options?: { readonly idempotencyKey?: string; readonly signal?: AbortSignal }): Promise<Chat>
  models(): Promise<Answer<'/v1/models', 'get'>>
  balance(): Promise<Answer<'/v1/credits/balance', 'get'>>
  /** Every page of calls, newest first, one after the other. */
  calls(): AsyncGenerator<Answer<'/v1/calls', 'get'>['data'][number]>
  /** Pays by x402 with a wallet that needs tokens and nothing else, not even a session. */
  topUp(signer: TypedDataSigner, request: TopUpRequest): Promise<TopUp>
}

/** A chat request: `model`, `messages`, and whatever the model takes. Streams are for the `openai` package. */
export interface ChatBody {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }>
  readonly [field: string]: unknown
}

/** A chat answer: what every model gives, and whatever else this one does. */
export interface Chat {
  readonly choices: ReadonlyArray<{ readonly message: { readonly role: string; readonly content: string | null } }>
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost_micro: number }
  readonly [field: string]: unknown
}

/** Opens a client. Nothing is sent before the first call. */
export function createFarebox(options: FareboxOptions): Farebox {
  const transport = createTransport(options)
  const auth = createSession(transport, options.tokens)
  const requests = createRequests(transport, auth, options.apiKey)
  const { json } = requests
  return {
    auth,
    orders: createOrders(requests),
    tasks: createTasks(requests),
    request: json,
    chat: (body, { idempotencyKey, signal } = {}) =>
      json<Chat>({
        method: 'POST',
        path: '/v1/chat/completions',
        body: { ...body, stream: false },
        // with a key a repeat after a lost answer is the same call, not a second one
        idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
        signal,
      }),
    models: () => transport.json({ path: '/v1/models' }),
    balance: () => json({ path: '/v1/credits/balance' }),
    async *calls() {
      for (let before = 0; ; ) {
        const page = await json<Answer<'/v1/calls', 'get'>>({ path: `/v1/calls?limit=100&before_id=${before}` })
        yield* page.data
        if (page.next_cursor === 0) return
        before = page.next_cursor
      }
    },
    topUp: (signer, request) => topUp(transport, signer, request),
  }
}
