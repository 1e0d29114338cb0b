import { type Command, Option } from 'commander'
import { type Resolved, resolveHold } from '../administration/holds/service.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { Fault } from '../kernel/errors.ts'
import type { Microcredits } from '../kernel/money.ts'
import type { Outcome } from '../ledger/operations.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseMicro, withJson, withReason } from '../terminal/options.ts'
import { amount, print } from '../terminal/output.ts'
import { findHold } from './find-hold.ts'
import { refusedPlainly } from './refused.ts'
import { type Session, withDatabase } from './session.ts'

interface Decision {
  readonly actual?: Microcredits
  readonly release?: boolean
  readonly aboveHold?: boolean
  readonly outcome: Outcome
  readonly reason: string
  readonly json?: boolean
}

/** Adds `hold resolve`: the one way by which a hold of unknown cost ends. The ledger decides, not this program. */
export function holdResolveCommand(hold: Command, around: ProgramSurroundings): void {
  withReason(
    withJson(hold.command('resolve <hold>').description('end a hold of unknown cost, by its id or its request id')),
  )
    .addOption(
      new Option('--actual <micro>', 'charge this much, in microcredits, and give the rest back')
        .argParser(parseMicro)
        .conflicts('release'),
    )
    .option('--release', 'charge nothing')
    .addOption(
      new Option(
        '--outcome <outcome>',
        'with --actual: how the call ended for the client; one that failed may be refunded',
      )
        .choices(['success', 'failed'])
        .default('success'),
    )
    .option('--above-hold', 'with --actual: charge it even though it is more than was held')
    .action((named: string, decision: Decision) => resolve(around, named, decision))
}

async function resolve(around: ProgramSurroundings, named: string, decision: Decision): Promise<void> {
  if (decision.actual === undefined && !decision.release) {
    throw new ProgramFault(
      exitCodes.usage,
      'Say how it ends: --actual <micro> to charge what the call cost, or --release to charge nothing.',
    )
  }
  await withDatabase(around, 'resolving the hold', async (session) => {
    const { id } = await findHold(session.db, named)
    const end = { actualMicro: decision.actual, outcome: decision.outcome, aboveHold: decision.aboveHold }
    const by = { operator: session.operator, reason: decision.reason }
    const resolving = resolveHold(session.db, String(id), end, by).catch(namingTheOption)
    report(around, session, decision, await refusedPlainly(resolving))
  })
}

/** A slip is a matter of the options here. */
function namingTheOption(cause: unknown): never {
  if (cause instanceof Fault && cause.code === 'amount_above_hold')
    throw new ProgramFault(exitCodes.usage, cause.message.replace('say so.', 'add --above-hold.'), { cause })
  throw cause
}

function report(
  around: ProgramSurroundings,
  { actor }: Session,
  decision: Decision,
  { hold, state, chargedMicro, returnedMicro, availableMicro, changed }: Resolved,
): void {
  const data = { hold_id: hold.id, request_id: hold.request_id, resolution: state, charged_micro: chargedMicro }
  if (state === 'shortfall')
    throw new ProgramFault(
      exitCodes.conflict,
      `Nothing was charged: ${amount(decision.actual ?? 0n)} is more than the ${amount(hold.reserve_micro)} held, and account ${hold.actor_account_id} cannot pay the rest. Hold ${hold.id} now waits as shortfall for its payers to authorize.`,
    )
  if (!changed) {
    print(around, decision, {
      data: { ...data, changed },
      text: `Hold ${hold.id} is ${state} already, with ${amount(chargedMicro)} charged; nothing was changed.`,
    })
    return
  }
  print(around, decision, {
    data: {
      ...data,
      returned_micro: returnedMicro,
      changed,
      available_micro: availableMicro ?? null,
      resolved_by: actor,
      reason: decision.reason,
    },
    text: `Hold ${hold.id} is ${state}: ${amount(chargedMicro)} charged, ${amount(returnedMicro)} given back. Account ${hold.actor_account_id} has ${amount(availableMicro ?? 0n)} available.`,
  })
}
