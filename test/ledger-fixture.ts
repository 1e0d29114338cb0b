import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import type { BillingMode, BucketKind } from '../src/db/schema.ts'
import type { Route } from '../src/http/route.ts'
import { createServer } from '../src/http/server.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import * as keys from '../src/identity/keys/store.ts'
import type { Caller } from '../src/kernel/caller.ts'
import { Fault } from '../src/kernel/errors.ts'
import { microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { grantCredits } from '../src/ledger/grants.ts'
import type { TestDatabase } from './database.ts'

/** Limits of a budget in microcredits, as tests write them. */
export type Limits = Partial<Record<keyof accounts.BudgetLimits, bigint>>

const limits = (given: Limits): accounts.BudgetLimits => ({ ...accounts.UNLIMITED, ...given })

/** Accounts, links, Credits and calls for tests of what people read: all of it through the ledger's own functions. */
export function ledgerFixture({ db, pool }: TestDatabase) {
  async function apply(
    operation: Record<string, unknown>,
  ): Promise<{ status: string; amount_micro: bigint | null; detail: unknown }> {
    const wire = JSON.stringify([operation], (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))
    const { rows } = await pool.query('select status, amount_micro, detail from ledger_apply($1)', [wire])
    return rows[0]
  }

  return {
    apply,
    /** An account without Credits. */
    account: (
      accountType: 'owner' | 'agent',
      given: { walletAddress?: string; email?: string; label?: string } = {},
    ): Promise<bigint> =>
      db.transaction().execute((tx) =>
        accounts.insert(tx, {
          accountType,
          walletAddress: given.walletAddress,
          email: given.email,
          label: given.label,
        }),
      ),
    /** Puts an Agent under an owner; gives the link's budget. */
    async link(agentId: bigint, ownerId: bigint, billingMode: BillingMode, given?: Limits): Promise<bigint> {
      return db
        .transaction()
        .execute((tx) =>
          accounts.link(tx, { agentId, ownerId, billingMode, budget: given ? limits(given) : accounts.UNLIMITED }),
        )
    },
    /** An API key of the account, as the caller that it makes. */
    async key(accountId: bigint, given?: Limits): Promise<Caller> {
      const id = await db.transaction().execute((tx) =>
        keys.insert(tx, {
          accountId,
          hash: systemRandom.bytes(32),
          name: '',
          prefix: '',
          last4: '',
          expiresAt: undefined,
          budget: given && limits(given),
        }),
      )
      return { accountId, credential: { kind: 'api_key', id } }
    },
    grant: (
      accountId: bigint,
      amount: bigint,
      given: { bucket?: BucketKind; expiresAt?: Date; sourceId?: string } = {},
    ) =>
      grantCredits(db, {
        source: 'operator',
        sourceId: given.sourceId ?? systemRandom.uuid(),
        accountId,
        bucket: given.bucket ?? 'purchased',
        amountMicro: microcredits(amount),
        expiresAt: given.expiresAt,
        reason: 'a test',
        grantedBy: 'operator:test',
      }),
    /** Holds for a chat call; gives the call's id and what was granted. */
    async hold(caller: Caller, wanted: bigint, given: { minimum?: bigint; model?: string; detail?: unknown } = {}) {
      const { rows } = await sql<{ id: bigint }>`select nextval('hold_ids') as id`.execute(db)
      const id = rows[0]?.id ?? 0n
      const applied = await apply({
        operation: 'reserve',
        id,
        request_id: `req_${id}`,
        actor_account_id: caller.accountId,
        credential_kind: caller.credential.kind,
        credential_id: caller.credential.id,
        wanted_micro: wanted,
        minimum_micro: given.minimum ?? wanted,
        category: 'chat',
        subject: given.model ?? 'demo',
        process_id: 1,
        detail: given.detail ?? null,
      })
      return { id, ...applied }
    },
    capture: (id: bigint, actual: bigint, given: { outcome?: 'success' | 'failed'; usage?: unknown } = {}) =>
      apply({
        operation: 'capture',
        id,
        actual_micro: actual,
        outcome: given.outcome ?? 'success',
        usage: given.usage ?? { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0 },
      }),
    release: (id: bigint) => apply({ operation: 'void', id, actual_micro: 0, outcome: 'failed' }),
    unknown: (id: bigint) => apply({ operation: 'unknown', id, reason: 'a test' }),
  }
}

/** A server of these routes, and requests to it as any caller. */
export function readingServer(routes: readonly Route[]) {
  const callers = new Map<string, Caller>()
  const recognise = async (token: string): Promise<Caller> => {
    const caller = callers.get(token)
    if (!caller) throw new Fault('unauthorized')
    return caller
  }
  const faults: unknown[] = []
  const server: FastifyInstance = createServer({
    routes,
    authenticator: { authenticate: recognise, recognise },
    random: systemRandom,
    bodyLimit: 1_000_000,
    trustedProxies: [],
    onAnswered: () => undefined,
    onFault: (_id, error) => faults.push(error),
  })
  async function send(
    method: 'GET' | 'POST',
    caller: Caller,
    url: string,
    given: { headers?: Record<string, string>; body?: Record<string, unknown> } = {},
  ) {
    const token = `${caller.credential.kind}-${caller.credential.id}-${caller.accountId}`
    callers.set(token, caller)
    const reply = await server.inject({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, ...given.headers },
      ...(given.body === undefined ? {} : { payload: given.body }),
    })
    return {
      status: reply.statusCode,
      headers: reply.headers,
      text: reply.body,
      body: reply.body.startsWith('{') ? JSON.parse(reply.body) : undefined,
    }
  }
  return {
    faults,
    get: (caller: Caller, url: string, headers: Record<string, string> = {}) => send('GET', caller, url, { headers }),
    post: (caller: Caller, url: string, body: Record<string, unknown> = {}) => send('POST', caller, url, { body }),
  }
}

/** The account as a signed-in person. */
export const signedIn = (accountId: bigint): Caller => ({ accountId, credential: { kind: 'session', id: accountId } })
