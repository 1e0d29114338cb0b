import { type Answer, addressOf, type Requests } from './requests.ts'

/** A movement of Credits. */
export type Movement = Answer<'/v1/credits/ledger', 'get'>['data'][number]
/** A call, with what it used and cost. */
export type CallRecord = Answer<'/v1/calls', 'get'>['data'][number]
/** A charge that waits, or a hold whose usage is unknown (spec 2.8). */
export type SettlementItem = Answer<'/v1/credits/settlements', 'get'>['data'][number]
/** What became of a wish for a refund. */
export type AppliedRefund = Answer<'/v1/refunds/apply', 'post'>
/** A refund (spec 2.9). */
export type Refund = AppliedRefund['refund']

/** From and to, as times in RFC 3339. */
export interface Period {
  readonly from?: string
  readonly to?: string
}

/** The bill. Lists are every page, newest first, read as you go. */
export interface Credits {
  balance(): Promise<Answer<'/v1/credits/balance', 'get'>>
  /** Every movement of the account's Credits. */
  statement(period?: Period): AsyncGenerator<Movement>
  calls(
    wanted?: Period & { readonly model?: string; readonly status?: CallRecord['status'] },
  ): AsyncGenerator<CallRecord>
  /** Sums by any of `day`, `model`, `agent`, `key`. */
  usage(wanted?: Period & { readonly groupBy?: readonly string[] }): Promise<Answer<'/v1/usage', 'get'>>
  /** What is open; `all` shows the rest, too. Takes a session. */
  settlements(wanted?: { readonly state?: 'open' | 'all' }): AsyncGenerator<SettlementItem>
  /** Pays a pending charge, as its owner. Repeats give the same. Takes a session. */
  authorize(requestId: string): Promise<SettlementItem>
  refunds(): AsyncGenerator<Refund>
  /** Asks for the Credits of a failed call. Repeats give the same refund. Takes a session. */
  applyForRefund(callId: number, reason: string): Promise<AppliedRefund>
}

const PAGE = 100

/** The bill of a client. */
export function createCredits({ json, session }: Requests): Credits {
  async function* listed<T>(send: typeof json, path: string, wanted: object): AsyncGenerator<T> {
    for (let before: number | null | undefined; before !== 0 && before !== null; ) {
      const query = { limit: PAGE, before_id: before, ...wanted }
      const page = await send<{ data: T[]; next_cursor: number | null }>({ path: addressOf(path, {}, query) })
      yield* page.data
      before = page.next_cursor
    }
  }
  return {
    balance: () => json({ path: '/v1/credits/balance' }),
    statement: (period = {}) => listed(json, '/v1/credits/ledger', period),
    calls: (wanted = {}) => listed(json, '/v1/calls', wanted),
    usage: ({ groupBy, ...period } = {}) =>
      json({ path: addressOf('/v1/usage', {}, { ...period, group_by: groupBy?.join(',') }) }),
    settlements: (wanted = {}) => listed(session, '/v1/credits/settlements', wanted),
    async authorize(requestId) {
      const path = addressOf('/v1/credits/settlements/{id}/authorize', { id: requestId }, {})
      return (await session<{ data: SettlementItem }>({ method: 'POST', path, body: {}, repeatable: true })).data
    },
    async *refunds() {
      for (let page = 1, seen = 0; ; page += 1) {
        const path = addressOf('/v1/refunds', {}, { page, per_page: PAGE })
        const { refunds, total } = await json<Answer<'/v1/refunds', 'get'>>({ path })
        yield* refunds
        seen += refunds.length
        if (refunds.length === 0 || seen >= total) return
      }
    },
    applyForRefund: (callId, reason) =>
      session({ method: 'POST', path: '/v1/refunds/apply', body: { call_id: callId, reason }, repeatable: true }),
  }
}
