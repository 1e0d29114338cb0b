import type { Command } from 'commander'
import { decide as decideRefund, statusOf } from '../administration/refunds/service.ts'
import * as store from '../administration/refunds/store.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Database } from '../db/database.ts'
import type { RefundDecision } from '../db/schema.ts'
import { Fault } from '../kernel/errors.ts'
import { inCredits } from '../kernel/money.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseId, parseLimit, withJson, withReason } from '../terminal/options.ts'
import { age, amount, fields, print, table, time } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

/** `farebox refund list|show|approve|reject`: refunds of calls of which it is not known from where they were paid. */
export const refundCommands: AddCommands = (program, around) => {
  const refund = program.command('refund').description('refunds that wait for a decision')
  withJson(refund.command('list').description('list the refunds that wait for a decision, oldest first'))
    .option('--limit <n>', 'how many', parseLimit, 100)
    .action((options: { limit: number; json?: boolean }) => list(around, options))
  withJson(
    refund
      .command('show')
      .description('show a refund and where its Credits went')
      .argument('<refund>', 'its id', parseId),
  ).action((id: bigint, options: { json?: boolean }) => show(around, id, options))
  decisionCommand(refund, around, 'approved', 'approve', 'give the Credits to the account that made the call')
  decisionCommand(refund, around, 'rejected', 'reject', 'give nothing back')
}

interface DecisionOptions {
  readonly reason: string
  readonly json?: boolean
}

function decisionCommand(
  refund: Command,
  around: ProgramSurroundings,
  word: RefundDecision,
  verb: string,
  description: string,
): void {
  const command = refund.command(verb).description(description).argument('<refund>', 'its id', parseId)
  withReason(withJson(command)).action((id: bigint, options: DecisionOptions) => decide(around, id, word, options))
}

async function list(around: ProgramSurroundings, options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing refunds', async ({ db }) => {
    const found = await store.waiting(db, options.limit + 1)
    const refunds = found.slice(0, options.limit)
    const rows = refunds.map((refund) => [
      String(refund.id),
      age(refund.age_seconds),
      String(refund.account_id),
      String(refund.call_id),
      inCredits(refund.amount_micro),
      refund.reason,
    ])
    const more = found.length > refunds.length
    print(around, options, {
      data: { refunds: refunds.map(refundData), has_more: more },
      text:
        refunds.length === 0
          ? 'No refund waits.'
          : `${table(['ID', 'AGE', 'ACCOUNT', 'CALL', 'AMOUNT', 'REASON'], rows, ['ID', 'CALL', 'AMOUNT'])}${more ? '\nThere are more: raise --limit.' : ''}\n\nAMOUNT is Credits. Next: farebox refund show <id>`,
    })
  })
}

async function show(around: ProgramSurroundings, id: bigint, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'reading the refund', async ({ db }) => {
    const refund = await existing(db, id)
    const parts = refund.is_verified ? await store.parts(db, refund) : []
    const rows = parts.map((part) => [String(part.account_id), part.kind, amount(part.amount_micro)])
    const paid = rows.length > 0 ? `\n\nReturned to\n${table(['ACCOUNT', 'BUCKET', 'AMOUNT'], rows)}` : ''
    const next =
      statusOf(refund) === 'review_required'
        ? `\n\nNext: farebox hold show ${refund.call_id}, then\n  farebox refund approve ${id} --reason <text>   gives the Credits to account ${refund.account_id}\n  farebox refund reject ${id} --reason <text>    gives nothing`
        : ''
    print(around, options, {
      data: { refund: refundData(refund), returned_to: parts },
      text: `${fields(lines(refund))}${paid}${next}`,
    })
  })
}

async function decide(
  around: ProgramSurroundings,
  id: bigint,
  word: RefundDecision,
  { reason, ...options }: DecisionOptions,
): Promise<void> {
  await withDatabase(around, 'deciding on the refund', async ({ db, operator }) => {
    const { refund, changed } = await decideOrSay(db, { refundId: id, word }, { operator, reason })
    const given = word === 'approved' ? `${amount(refund.amount_micro)} to account ${refund.account_id}` : 'nothing'
    print(around, options, {
      data: { refund: refundData(refund), changed },
      text: changed
        ? `Refund ${id} is ${statusOf(refund)}: ${given} given back.`
        : `Refund ${id} was ${word} before, by ${refund.decided_by}; nothing was changed.`,
    })
  })
}

/** What is not there is a failure at the terminal, what was decided a conflict. */
function decideOrSay(...deciding: Parameters<typeof decideRefund>): ReturnType<typeof decideRefund> {
  return refusedPlainly(
    decideRefund(...deciding).catch((cause: unknown) => {
      if (cause instanceof Fault && cause.code === 'refund_not_found') throw notFound(deciding[1].refundId)
      throw cause
    }),
  )
}

async function existing(db: Database, id: bigint): Promise<store.RefundRow> {
  const refund = await store.find(db, id)
  if (!refund) throw notFound(id)
  return refund
}

const notFound = (id: bigint): ProgramFault =>
  new ProgramFault(exitCodes.failed, `There is no refund ${id}. \`farebox refund list\` shows those that wait.`)

function lines(refund: store.RefundRow): Array<readonly [string, string | null]> {
  return [
    ['refund', String(refund.id)],
    ['status', statusOf(refund)],
    ['call', String(refund.call_id)],
    ['request', refund.request_id],
    ['account', String(refund.account_id)],
    ['amount', amount(refund.amount_micro)],
    ['reason', refund.reason],
    ['funding', refund.is_verified ? null : (refund.note ?? 'its allocations do not add up to what was charged')],
    ['applied', `${time(refund.created_at)} (${age(refund.age_seconds)} ago)`],
    ['decided by', refund.decided_by],
    ['because', refund.decision_reason],
  ]
}

function refundData({ age_seconds, decided_at: _, ...refund }: store.RefundRow) {
  return { ...refund, status: statusOf(refund), age_seconds: Math.floor(age_seconds) }
}
