import { Argument, InvalidArgumentError } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { coinText } from '../payments/axon/amounts.ts'
import { decideClaim } from '../payments/axon/review/service.ts'
import * as store from '../payments/axon/review/store.ts'
import { type Claim, find } from '../payments/axon/store.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseId, parseLimit, withJson } from '../terminal/options.ts'
import { age, amount, fields, print, table, time } from '../terminal/output.ts'
import { addDecisions } from './decisions.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

const EVENTS_SHOWN_MAX = 100

/** `farebox axon list|show|credit|refund|dismiss`: native payments that could not be credited by themselves. */
export const axonCommands: AddCommands = (program, around) => {
  const axon = program.command('axon').description('native payments that could not be credited by themselves')
  withJson(axon.command('list').description('list payments in review, and refused ones whose value arrived'))
    .option('--limit <n>', 'how many', parseLimit, 100)
    .action((options: { limit: number; json?: boolean }) => list(around, options))
  withJson(axon.command('show <claim>').description('show a payment and what happened to it')).action(
    (named: string, options: { json?: boolean }) => show(around, claimId(named), options),
  )
  addDecisions(axon, around, {
    argument: () => new Argument('<claim>').argParser(claimId),
    decide: decideClaim,
    data: (claim) => ({ claim }),
  })
}

/** Takes `12` and `axon:12`, as refusals and statements write it. */
function claimId(named: string): bigint {
  try {
    return parseId(named.replace(/^axon:/, ''))
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw new ProgramFault(exitCodes.usage, 'That is no payment: `farebox axon list` names them in its first column.')
  }
}

const received = (claim: Claim): string | null =>
  claim.received_wei === null ? null : coinText(BigInt(claim.received_wei))

async function list(around: ProgramSurroundings, options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing native payments', async ({ db }) => {
    const claims = await store.waiting(db, options.limit)
    const now = around.clock.now().getTime()
    const rows = claims.map((claim) => [
      String(claim.id),
      claim.status,
      claim.reason ?? '',
      age((now - (claim.review_opened_at ?? claim.claimed_at).getTime()) / 1000),
      String(claim.account_id),
      received(claim) ?? '-',
      claim.tx_hash,
    ])
    const head = ['CLAIM', 'STATUS', 'REASON', 'AGE', 'ACCOUNT', 'RECEIVED', 'TRANSACTION']
    print(around, options, {
      data: { claims },
      text:
        rows.length === 0
          ? 'Nothing waits for a decision.'
          : `${table(head, rows, ['CLAIM', 'ACCOUNT', 'RECEIVED'])}\n\nRECEIVED is coins. Next: farebox axon show <claim>`,
    })
  })
}

async function show(around: ProgramSurroundings, id: bigint, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'reading the payment', async ({ db }) => {
    const claim = await find(db, id)
    if (!claim) throw new ProgramFault(exitCodes.failed, `There is no native payment ${id}.`)
    const events = await store.events(db, id, EVENTS_SHOWN_MAX)
    const happened = events.map((event) => [
      time(event.at),
      event.event,
      event.to_status,
      event.actor,
      JSON.stringify(event.data),
    ])
    print(around, options, {
      data: { claim, events },
      text: `${fields([
        ['claim', String(claim.id)],
        ['status', claim.status],
        ['reason', claim.reason],
        ['account', String(claim.account_id)],
        ['transaction', `${claim.tx_hash} on chain ${claim.chain_id}`],
        ['from', claim.payer_address],
        ['to', claim.recipient_address],
        ['received', received(claim)],
        ['block', claim.block === null || claim.block_at === null ? null : `${claim.block} at ${time(claim.block_at)}`],
        ['quote', claim.quote_id === null ? null : String(claim.quote_id)],
        ['credited', claim.credited_micro === null ? null : amount(claim.credited_micro)],
        ['claimed', time(claim.claimed_at)],
      ])}\n\n${table(['AT', 'EVENT', 'STATUS', 'BY', 'DATA'], happened)}`,
    })
  })
}
