import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { auditLedger } from '../src/ledger/audit.ts'
import type { Economy } from './database.ts'
import { CALL_MICRO } from './workload.ts'

/** What the ledger wrote during one scenario, beside what the clients and the mock provider saw. */
export interface Charges {
  /** Calls that the mock provider received from this server. */
  readonly received: number
  /** Calls that clients saw answered with 200. */
  readonly answered: number
  readonly captured: number
  /** Holds that are still open some seconds after the last call. */
  readonly open: number
  readonly chargedMicro: string
  readonly expectedMicro: string
  /** Rows of ledger_audit(). */
  readonly findings: readonly string[]
  /** Nothing is wrong: see `checkCharges`. */
  readonly exact: boolean
}

const PATIENCE_MS = 15_000

/** The newest hold of a database: where a scenario begins. */
export async function newestHold(economy: Economy): Promise<bigint> {
  const row = await economy.db.selectFrom('holds').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
  return row?.id ?? 0n
}

/**
 * Compares what was charged since hold `after` with what happened. Exact is: every call that the provider
 * received is charged once at its price, every answer with 200 is among them, at most `cutOff` more were
 * charged (those in flight when a load ended, whose clients saw no answer), no hold is open, the audit is empty.
 */
export async function checkCharges(
  economy: Economy,
  seen: { after: bigint; received: () => Promise<number>; answered: number; cutOff: number },
): Promise<Charges> {
  const { db } = economy
  const { open, received } = await atRest(economy, seen)
  const { rows } = await sql<{ calls: bigint; total: string }>`
    select count(distinct hold_id) as calls, coalesce(sum(amount_micro), 0)::text as total
    from transfers where kind = 'capture' and hold_id > ${seen.after}`.execute(db)
  const captured = Number(rows[0]?.calls ?? 0n)
  const charged = BigInt(rows[0]?.total ?? 0)
  const expected = BigInt(received) * CALL_MICRO
  const findings = (await auditLedger(db)).map(
    ({ check_name, subject, expected, found }) => `${check_name}: ${subject} should be ${expected} and is ${found}`,
  )
  const unanswered = captured - seen.answered
  return {
    received,
    answered: seen.answered,
    captured,
    open,
    chargedMicro: String(charged),
    expectedMicro: String(expected),
    findings: findings.slice(0, 20),
    exact:
      charged === expected &&
      captured === received &&
      unanswered >= 0 &&
      unanswered <= seen.cutOff &&
      open === 0 &&
      findings.length === 0,
  }
}

/**
 * Waits until the calls that a load left under way have reached the provider and ended: no hold is open and the
 * provider has received no more for two looks in a row. Gives what it sees then, or when patience ends.
 */
async function atRest(
  economy: Economy,
  seen: { after: bigint; received: () => Promise<number> },
): Promise<{ open: number; received: number }> {
  const deadline = performance.now() + PATIENCE_MS
  let received = await seen.received()
  for (let quiet = 0; ; ) {
    await pause(250)
    const before = received
    const open = await openHolds(economy, seen.after)
    received = await seen.received()
    quiet = open === 0 && received === before ? quiet + 1 : 0
    if (quiet === 2 || performance.now() > deadline) return { open, received }
  }
}

async function openHolds(economy: Economy, after: bigint): Promise<number> {
  const { rows } = await sql<{ open: bigint }>`
    select count(*) as open from holds h where h.id > ${after} and not exists (select from hold_resolutions r where r.hold_id = h.id)`.execute(
    economy.db,
  )
  return Number(rows[0]?.open ?? 0n)
}
