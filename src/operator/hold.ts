import { stateOf, waitingHolds } from '../administration/holds/service.ts'
import * as store from '../administration/holds/store.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { inCredits } from '../kernel/money.ts'
import { parseLimit, withJson } from '../terminal/options.ts'
import { age, amount, fields, print, table, time } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { findHold } from './find-hold.ts'
import { holdLookupCommand } from './hold-lookup.ts'
import { holdResolveCommand } from './hold-resolve.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

/** `farebox hold list|show|lookup|resolve`. */
export const holdCommands: AddCommands = (program, around) => {
  const hold = program.command('hold').description('Credits that calls set aside, and that wait for a decision')
  withJson(
    hold
      .command('list')
      .description('list the holds that wait, oldest first: usage_unknown for you, shortfall for their payers'),
  )
    .option('--account <account>', 'only of this account (id, wallet or e-mail address)')
    .option('--limit <n>', 'how many', parseLimit, 100)
    .action((options: ListOptions) => list(around, options))
  withJson(hold.command('show <hold>').description('show a hold, by its id or its request id')).action(
    (named: string, options: { json?: boolean }) => show(around, named, options),
  )
  holdLookupCommand(hold, around)
  holdResolveCommand(hold, around)
}

interface ListOptions {
  readonly account?: string
  readonly limit: number
  readonly json?: boolean
}

async function list(around: ProgramSurroundings, options: ListOptions): Promise<void> {
  await withDatabase(around, 'listing holds', async ({ db }) => {
    const accountId = options.account === undefined ? undefined : (await findAccount(db, options.account)).id
    const { holds, hasMore } = await waitingHolds(db, { accountId, limit: options.limit })
    const rows = holds.map((hold) => [
      String(hold.id),
      hold.flag ?? '',
      age(hold.age_seconds),
      String(hold.actor_account_id),
      hold.subject,
      inCredits(hold.reserve_micro),
      hold.actual_micro === null ? '?' : inCredits(hold.actual_micro),
      hold.request_id,
      hold.process ?? '-',
      hold.flag_detail ?? '',
    ])
    const head = ['ID', 'STATE', 'AGE', 'ACCOUNT', 'MODEL', 'HELD', 'COST', 'REQUEST', 'PROCESS', 'WHY']
    const more = hasMore ? '\nThere are more: raise --limit.' : ''
    print(around, options, {
      data: { holds: holds.map(holdData), has_more: hasMore },
      text:
        holds.length === 0
          ? 'No hold waits.'
          : `${table(head, rows, ['ID', 'HELD', 'COST'])}${more}\n\nHELD and COST are Credits. Next: farebox hold show <id>`,
    })
  })
}

async function show(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'reading the hold', async ({ db }) => {
    const hold = await findHold(db, named)
    const parts = await store.allocations(db, hold.id)
    const rows = parts.map((part) => [String(part.payer_account_id), part.kind, amount(part.amount_micro)])
    print(around, options, {
      data: { hold: holdData(hold), detail: hold.detail, allocations: parts },
      text: `${fields(holdFields(hold))}\n\nPaid from\n${table(['ACCOUNT', 'BUCKET', 'AMOUNT'], rows)}${next(hold)}`,
    })
  })
}

function holdFields(hold: store.HoldRow): Array<readonly [string, string | null]> {
  return [
    ['hold', String(hold.id)],
    ['state', stateOf(hold)],
    ['request', hold.request_id],
    ['account', String(hold.actor_account_id)],
    ['for', `${hold.category} ${hold.subject}`],
    ['held', amount(hold.reserve_micro)],
    ['cost', hold.actual_micro === null ? null : amount(hold.actual_micro)],
    ['made', `${time(hold.created_at)} (${age(hold.age_seconds)} ago)`],
    ['process', hold.process],
    ['why', hold.flag_detail],
    ...evidenceOf(hold),
    ['charged', hold.resolved_micro === null ? null : amount(hold.resolved_micro)],
    ['outcome', hold.resolved_outcome],
    ['resolved by', hold.resolved_by],
    ['reason', hold.resolved_reason],
    ['resolved', hold.resolved_at === null ? null : time(hold.resolved_at)],
  ]
}

/** What the provider's own record of the call can be found by. */
function evidenceOf({ evidence }: store.HoldRow): Array<readonly [string, string]> {
  return Object.entries((evidence ?? {}) as Record<string, unknown>).map(([name, value]) => [
    name.replaceAll('_', ' '),
    String(value),
  ])
}

function next(hold: store.HoldRow): string {
  if (stateOf(hold) !== 'usage_unknown') return ''
  return `\n\nNext: find what the provider charged for it, then\n  farebox hold resolve ${hold.id} --actual <micro> --reason <text>   charges that much, gives the rest back\n  farebox hold resolve ${hold.id} --release --reason <text>          charges nothing`
}

function holdData({ detail: _detail, age_seconds, ...hold }: store.HoldRow) {
  return {
    ...hold,
    state: stateOf({ ...hold, detail: _detail, age_seconds }),
    age_seconds: Math.floor(age_seconds),
  }
}
