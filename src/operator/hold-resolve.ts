import { type Command, Option } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { recordAction } from '../identity/audit-log/service.ts'
import { assert } from '../kernel/assert.ts'
import type { Microcredits } from '../kernel/money.ts'
import { endHold } from '../ledger/hold-end.ts'
import type { Applied, Outcome } from '../ledger/operations.ts'
import { ledgerTransaction } from '../ledger/transaction.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseMicro, withJson, withReason } from '../terminal/options.ts'
import { amount, print } from '../terminal/output.ts'
import { findHold } from './find-hold.ts'
import { type Session, withDatabase } from './session.ts'
import type { HoldRow } from './store/holds.ts'

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
    const hold = await findHold(session.db, named)
    if (endedAlike(hold, decision)) {
      const again = {
        hold_id: hold.id,
        request_id: hold.request_id,
        resolution: hold.resolution,
        charged_micro: hold.resolved_micro,
        changed: false,
      }
      print(around, decision, {
        data: again,
        text: `Hold ${hold.id} is ${hold.resolution} already, with ${amount(hold.resolved_micro ?? 0n)} charged; nothing was changed.`,
      })
      return
    }
    refuseUnlessUnknown(hold)
    refuseSlipAboveHold(hold, decision)
    const applied = await apply(session, around.userName, hold, decision)
    const charged = decision.actual ?? 0n
    const said = `Nothing was changed: hold ${hold.id}`
    if (applied.status === 'already_resolved') {
      throw new ProgramFault(
        exitCodes.conflict,
        `${said} was resolved otherwise in the meantime. See \`farebox hold show ${hold.id}\`.`,
      )
    }
    if (applied.status === 'shortfall') {
      throw new ProgramFault(
        exitCodes.conflict,
        `Nothing was charged: ${amount(charged)} is more than the ${amount(hold.reserve_micro)} held, and account ${hold.actor_account_id} cannot pay the rest. Hold ${hold.id} now waits as shortfall for its payers to authorize.`,
      )
    }
    assert(applied.status === 'captured' || applied.status === 'voided', `hold ${hold.id} cannot be ${applied.status}`)
    const returned = charged < hold.reserve_micro ? hold.reserve_micro - charged : 0n
    print(around, decision, {
      data: {
        hold_id: hold.id,
        request_id: hold.request_id,
        resolution: applied.status,
        charged_micro: charged,
        returned_micro: returned,
        changed: true,
        available_micro: applied.availableMicro ?? null,
        resolved_by: session.actor,
        reason: decision.reason,
      },
      text: `Hold ${hold.id} is ${applied.status}: ${amount(charged)} charged, ${amount(returned)} given back. Account ${hold.actor_account_id} has ${amount(applied.availableMicro ?? 0n)} available.`,
    })
  })
}

/** A repeat, for instance after a lost connection, is no mistake. */
function endedAlike(hold: HoldRow, decision: Decision): boolean {
  return decision.actual === undefined
    ? hold.resolution === 'voided'
    : hold.resolution === 'captured' && hold.resolved_micro === decision.actual
}

/** Only an end that nobody else can give is given here. The ledger checks again, under its lock. */
function refuseUnlessUnknown(hold: HoldRow): void {
  if (hold.resolution !== null) {
    throw new ProgramFault(
      exitCodes.conflict,
      `Hold ${hold.id} is ${hold.resolution} already (${amount(hold.resolved_micro ?? 0n)} charged); nothing was changed.`,
    )
  }
  if (hold.flag === null)
    throw new ProgramFault(
      exitCodes.conflict,
      `Hold ${hold.id} belongs to a call that runs; nothing was changed. Its server will end it, or flag it when it cannot.`,
    )
  if (hold.flag === 'shortfall') {
    throw new ProgramFault(
      exitCodes.conflict,
      `Hold ${hold.id} is a shortfall: its cost is known (${amount(hold.actual_micro ?? 0n)}) and more than its payers had. It cannot be resolved here: the rest is its payers' to agree to.`,
    )
  }
}

/** More than was held is taken from the caller unasked, or waits for ever: a digit too many must not do that. */
function refuseSlipAboveHold(hold: HoldRow, { actual, aboveHold }: Decision): void {
  if (actual === undefined || actual <= hold.reserve_micro || aboveHold) return
  throw new ProgramFault(
    exitCodes.usage,
    `${amount(actual)} is more than the ${amount(hold.reserve_micro)} held; nothing was changed. If the call did cost that much, add --above-hold.`,
  )
}

/** Ends the hold and puts that into the chain of the audit log, together; what changes nothing is not recorded. */
async function apply(session: Session, name: string, hold: HoldRow, decision: Decision): Promise<Applied> {
  const by = { holdId: hold.id, resolvedBy: session.actor, reason: decision.reason }
  return ledgerTransaction(session.db, async (tx) => {
    const applied =
      decision.actual === undefined
        ? await endHold(tx, { operation: 'void', outcome: 'failed', ...by })
        : await endHold(tx, {
            operation: 'capture',
            actualMicro: decision.actual,
            outcome: decision.outcome,
            usage: null,
            ...by,
          })
    if (applied.status !== 'already_resolved') {
      await recordAction(tx, {
        actor: { kind: 'operator', name },
        action: 'resolve.hold',
        targetId: hold.id,
        before: { flag: hold.flag, reserve_micro: Number(hold.reserve_micro) },
        after: {
          charged_micro: applied.status === 'shortfall' ? 0 : Number(decision.actual ?? 0n),
          status: applied.status,
        },
        reason: decision.reason,
      })
    }
    return applied
  })
}
