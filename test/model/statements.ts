import { microcredits } from '../../src/kernel/money.ts'
import { type Operation, wireForm } from '../../src/ledger/operations.ts'
import { ACCOUNTS, KEYS, type Name } from './commands.ts'
import { EXPIRED, type Limits, type Link, type Mode } from './economy.ts'
import type { Answer, Authorized, LedgerCommand } from './model.ts'
import type { Grant } from './world.ts'

/** What steps are in SQL. Each statement gives one row with one JSON column, and nothing of it is anybody's input. */

/** Ids are positions: what was made first is 1. */
export const accountId = (name: string): number => ACCOUNTS.indexOf(name as Name) + 1
export const nameOf = (id: number): string => ACCOUNTS[id - 1] ?? `account ${id}`
const keyId = (name: string): number => Object.keys(KEYS).indexOf(name) + 1
export const keyOf = (id: number): string => Object.keys(KEYS)[id - 1] ?? `key ${id}`
/** The time of an expiry's rank: far ahead, or long gone. */
const expiryTime = (rank: number): string => `${rank === EXPIRED ? 2001 : 2900 + rank}-01-01`
const DONE = `returning '{}'::json`
const money = (limit: bigint | null): string => (limit === null ? 'null' : String(limit))
const limitsOf = ({ perCall, daily, monthly, total }: Limits): string =>
  [perCall, daily, monthly, total].map(money).join(', ')

export const account = (name: Name, owner: string | undefined): string => `
  with family as (insert into families (id) values (${accountId(name)}))
  insert into accounts (id, account_type, family_id) overriding system value
  values (${accountId(name)}, '${owner ? 'agent' : 'owner'}', ${accountId(owner ?? name)}) ${DONE}`

export const key = (name: string, of: string, budgetId: number | null): string => `
  insert into api_keys (id, account_id, secret_hash, prefix, last4, budget_id) overriding system value
  values (${keyId(name)}, ${accountId(of)}, '${name}', 'fbx_', '', ${budgetId ?? 'null'}) ${DONE}`

const insertBudget = (id: number, limits: Limits): string => `
  insert into budgets (id, per_call_micro, daily_micro, monthly_micro, total_micro) overriding system value values (${id}, ${limitsOf(limits)})`
export const budget = (id: number, limits: Limits): string => `${insertBudget(id, limits)} ${DONE}`

const insertLink = (name: Name, link: Link): string => `
  insert into agent_links (agent_account_id, owner_account_id, billing_mode, budget_id)
  values (${accountId(name)}, ${accountId(link.owner)}, '${link.mode}', ${link.budget ?? 'null'})`
export const link = (name: Name, made: Link): string => `${insertLink(name, made)} ${DONE}`

/** As identity makes and ends links, under the locks that it takes. */
export const join = (name: Name, made: Link, limits: Limits): string => `
  with locked as (select ledger_lock_families(array[${accountId(name)}, ${accountId(made.owner)}]::bigint[])),
  given as (${insertBudget(made.budget ?? 0, limits)}), linked as (${insertLink(name, made)})
  update accounts set family_id = ${accountId(made.owner)} from locked where id = ${accountId(name)} ${DONE}`
export const unlink = (name: Name): string => `
  with locked as (select ledger_lock_families(array[${accountId(name)}]::bigint[])),
  ended as (delete from agent_links where agent_account_id = ${accountId(name)})
  update accounts set family_id = id from locked where id = ${accountId(name)} ${DONE}`
export const terms = (name: Name, mode: Mode, paused: boolean): string =>
  `update agent_links set billing_mode = '${mode}', funding_paused = ${paused} where agent_account_id = ${accountId(name)} ${DONE}`
export const limits = (id: number, { perCall, daily, monthly, total }: Limits): string =>
  `update budgets set per_call_micro = ${money(perCall)}, daily_micro = ${money(daily)}, monthly_micro = ${money(monthly)}, total_micro = ${money(total)} where id = ${id} ${DONE}`
export const status = (name: Name, to: string): string =>
  `update accounts set status = '${to}' where id = ${accountId(name)} ${DONE}`
export const killKey = (name: string, how: 'revoke' | 'expire'): string =>
  `update api_keys set ${how === 'revoke' ? 'revoked_at' : 'expires_at'} = now() - interval '1 second' where id = ${keyId(name)} ${DONE}`
export const thresholds = (all: bigint, one: Name, own: bigint): string => `
  with settings as (update ledger_settings set balance_low_micro = ${all})
  insert into balance_thresholds (account_id, below_micro) values (${accountId(one)}, ${own}) ${DONE}`

export const grant = ({ source, account: name, kind, amount, expires }: Grant): string => `
  select json_build_object('repeated', repeated) from ledger_grant('operator', '${source}', ${accountId(name)}, '${kind}', ${amount},
    ${expires === null ? 'null' : `'${expiryTime(expires)}'`}, 'a test', 'operator:test')`
export const expireBucket = (index: number): string =>
  `update buckets set expires_at = '${expiryTime(EXPIRED)}' where id = (select id from buckets order by id offset ${index} limit 1) ${DONE}`
export const sweep = (name: Name): string =>
  `select json_build_object('swept', swept) from ledger_expire(${accountId(name)}) swept`
export const authorize = (holdId: bigint, by: Name): string =>
  `select to_json(a) from ledger_authorize(${holdId}, ${accountId(by)}) a`
export const refund = (callId: bigint, by: Name): string =>
  `select json_build_object('outcome', outcome) from ledger_refund(${callId}, ${accountId(by)}, 'a test')`
export const operation = (command: LedgerCommand): string =>
  `select to_json(a) from (select status, amount_micro, available_micro, detail from ledger_apply('${wire(command)}')) a`

/** The command as the server sends it. */
export const wire = (command: LedgerCommand): string => JSON.stringify([wireForm(operationOf(command), 1n)])

/** The model's answer in the words of `operation`. Of the limits that bind, the model names only whose they are. */
export function answered({ status: word, amount, available, whose, room }: Answer): unknown {
  return {
    status: word,
    amount_micro: amount === undefined ? null : Number(amount),
    available_micro: available === undefined ? null : Number(available),
    ...(room === undefined ? {} : { room: Number(room), whose: whose ?? null }),
  }
}

/** The database's answer to `operation`, reduced to what the model says. */
export function reduced(answer: { detail?: Record<string, number | string> | null; status?: string }): unknown {
  if (!('detail' in answer)) return answer
  const { detail, ...rest } = answer
  if (rest.status === 'insufficient_credits') return { ...rest, room: detail?.available_micro, whose: null }
  if (rest.status !== 'budget_exceeded') return rest
  const room = Number(detail?.limit_micro) - Number(detail?.spent_micro) - Number(detail?.held_micro)
  return { ...rest, room: Math.max(room, 0), whose: detail?.budget }
}

/** The model's answer in the words of `authorize`. */
export function authorized({ outcome, payer, required, available }: Authorized): unknown {
  return {
    outcome,
    payer_account_id: payer === undefined ? null : accountId(payer),
    required_micro: required === undefined ? null : Number(required),
    available_micro: available === undefined ? null : Number(available),
  }
}

/** The command in the ledger's own words. */
export function operationOf(command: LedgerCommand): Operation {
  switch (command.operation) {
    case 'reserve':
      return {
        operation: 'reserve',
        holdId: command.id,
        requestId: `request ${command.id}`,
        actorAccountId: BigInt(accountId(command.actor)),
        credential: { kind: 'api_key', id: BigInt(keyId(command.key)) },
        wantedMicro: microcredits(command.wanted),
        minimumMicro: microcredits(command.minimum),
        category: 'model',
        subject: 'test',
        detail: null,
      }
    case 'capture':
      return {
        operation: 'capture',
        holdId: command.id,
        actualMicro: microcredits(command.actual),
        outcome: command.outcome,
        usage: null,
      }
    case 'void':
      return { operation: 'void', holdId: command.id, outcome: 'failed' }
    case 'unknown':
      return { operation: 'unknown', holdId: command.id, reason: 'the test says so' }
  }
}
