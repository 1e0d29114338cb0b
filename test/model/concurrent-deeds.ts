import type { Name } from './commands.ts'
import { EXPIRED, EXTENDED, type Kind, type Limits, type Mode } from './economy.ts'
import type { Model } from './model.ts'
import * as statement from './statements.ts'

/** What servers do in the concurrent model besides holds and their ends. Read back from the log of commits. */
export type Deed =
  | {
      readonly do: 'grant'
      readonly source: string
      readonly account: Name
      readonly kind: Kind
      readonly amount: number
    }
  | { readonly do: 'authorize'; readonly id: number }
  | { readonly do: 'refund'; readonly id: number; readonly account: Name }
  | { readonly do: 'sweep' | 'expire'; readonly account: Name }
  | { readonly do: 'limits'; readonly budget: 1 | 2 | 3 | 4; readonly total: number | null }
  | { readonly do: 'terms'; readonly agent: Name; readonly mode: Mode; readonly paused: boolean }
  | { readonly do: 'status'; readonly account: Name; readonly status: 'active' | 'banned' }
  | { readonly do: 'link'; readonly agent: Name; readonly to: Name }
  | { readonly do: 'unlink'; readonly agent: Name }

/** Budgets by id, with the account whose family's lock orders their changes. */
const BUDGET_OF: Record<1 | 2 | 3 | 4, Name> = { 1: 'agent', 2: 'loner', 3: 'agent', 4: 'strict' }
const LINK_BUDGET: Partial<Record<Name, number>> = { agent: 3, strict: 4 }
const limitsOf = (total: number | null): Limits => ({
  perCall: null,
  daily: null,
  monthly: null,
  total: total === null ? null : BigInt(total),
})

/** A deed as SQL, and the accounts whose families are locked before it: what it does not lock by itself. */
export function sqlOf(deed: Deed): { sql: string; lock: number[] } {
  const id = statement.accountId
  switch (deed.do) {
    case 'grant':
      return { sql: statement.grant({ ...deed, expires: null, amount: BigInt(deed.amount) }), lock: [] }
    case 'authorize':
      return { sql: statement.authorize(BigInt(deed.id), 'owner'), lock: [] }
    case 'refund':
      return { sql: statement.refund(BigInt(deed.id), deed.account), lock: [] }
    case 'sweep':
      return { sql: statement.sweep(deed.account), lock: [] }
    case 'expire':
      return {
        sql: `with lapsed as (update buckets set expires_at = '2001-01-01' where account_id = ${id(deed.account)} and expires_at > now()) select '{}'::json`,
        lock: [id(deed.account)],
      }
    case 'limits':
      return { sql: statement.limits(deed.budget, limitsOf(deed.total)), lock: [id(BUDGET_OF[deed.budget])] }
    case 'terms':
      return {
        sql: `with done as (${statement.terms(deed.agent, deed.mode, deed.paused)}) select '{}'::json`,
        lock: [id(deed.agent)],
      }
    case 'status':
      return { sql: statement.status(deed.account, deed.status), lock: [id(deed.account)] }
    case 'link':
      return {
        sql: `with linked as (insert into agent_links (agent_account_id, owner_account_id, budget_id)
                values (${id(deed.agent)}, ${id(deed.to)}, ${LINK_BUDGET[deed.agent]}) on conflict do nothing returning agent_account_id),
              moved as (update accounts set family_id = ${id(deed.to)} from linked where id = linked.agent_account_id)
              select json_build_object('changed', exists (select from linked))`,
        lock: [id(deed.agent), id('owner'), id('rival')],
      }
    case 'unlink':
      return {
        sql: `with ended as (delete from agent_links where agent_account_id = ${id(deed.agent)} returning agent_account_id),
              moved as (update accounts set family_id = id from ended where id = ended.agent_account_id)
              select json_build_object('changed', exists (select from ended))`,
        lock: [id(deed.agent), id('owner'), id('rival')],
      }
  }
}

/** The same in the model; gives what the database must have answered. */
export function inModel(model: Model, deed: Deed): unknown {
  switch (deed.do) {
    case 'grant':
      return { repeated: !model.grant({ ...deed, expires: null, amount: BigInt(deed.amount) }) }
    case 'authorize':
      return statement.authorized(model.authorize(BigInt(deed.id)))
    case 'refund':
      return { outcome: model.refund(BigInt(deed.id), deed.account) }
    case 'sweep':
      return { swept: Number(model.expire(deed.account)) }
    case 'expire': {
      for (const bucket of model.buckets)
        if (bucket.account === deed.account && bucket.expires !== null && bucket.expires >= EXTENDED)
          bucket.expires = EXPIRED
      return {}
    }
    case 'limits': {
      const budget = model.budgets.get(deed.budget)
      if (budget) budget.limits = limitsOf(deed.total)
      return {}
    }
    case 'terms':
      Object.assign(model.account(deed.agent).link ?? {}, { mode: deed.mode, paused: deed.paused })
      return {}
    case 'status':
      model.account(deed.account).status = deed.status
      return {}
    case 'link': {
      const account = model.account(deed.agent)
      if (account.link) return { changed: false }
      const budget = LINK_BUDGET[deed.agent] ?? null
      account.link = { owner: deed.to, mode: 'self_then_owner', paused: false, budget }
      return { changed: true }
    }
    case 'unlink': {
      const account = model.account(deed.agent)
      const changed = account.link !== null
      account.link = null
      return { changed }
    }
  }
}
