import { afterAll, beforeAll, expect, test } from 'vitest'
import { reap } from '../../src/app/upkeep.ts'
import { claimKey } from '../../src/billing/idempotency/service.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { Fault } from '../../src/kernel/errors.ts'
import { createApplier } from '../../src/ledger/applier.ts'
import { auditLedger } from '../../src/ledger/audit.ts'
import { createHoldIds } from '../../src/ledger/hold-ids.ts'
import { openLane } from '../../src/ledger/lane.ts'
import { createLedger } from '../../src/ledger/ledger.ts'
import * as processes from '../../src/ledger/processes.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { amount, balanceOf, makeEconomy, OWNER, reserveOf } from './economy.ts'
import { inTurns, raceRepeats, repeatedRace } from './repeated.ts'

/** The long form: npm run test:races, 200 repetitions of each. */
const REPEATS = raceRepeats(4)
const timeout = 20_000 + REPEATS * 1_000
const CREDITS = 1_000_000n
const HOST = 'here'
/** The process of this pid is taken for dead, as one is that was killed, or that another container cannot see. */
const DEAD_PID = 1
const LIVING_PID = 2

let database: TestDatabase
let living: Server[]
beforeAll(async () => {
  database = await freshDatabase()
  await makeEconomy(database, CREDITS)
  living = [await server(LIVING_PID), await server(LIVING_PID)]
})
afterAll(async () => {
  await Promise.all(living.map(({ applier }) => applier.close()))
  await database.drop()
})

type Server = Awaited<ReturnType<typeof server>>
/** A server process as far as the ledger goes: signed in, with its own lane. */
async function server(pid: number) {
  const { db, url } = database
  const holdIds = await createHoldIds(db)
  const processId = await processes.register(db, { host: HOST, pid, oldest_hold_id: holdIds.lowest })
  const lane = openLane({ url, processId, answerTimeoutMs: 20_000 })
  const applier = createApplier({ lane, clock: systemClock, batchMax: 512, queueMax: 10_000, patienceMs: 30_000 })
  return {
    db,
    processId,
    host: HOST,
    isRunning: (pid: number) => pid !== DEAD_PID,
    applier,
    ledger: createLedger(applier, holdIds),
  }
}

/** Both living servers look for what the dead left, as each does when it starts and every ten seconds. Gives what they set out to mark. */
const look = async (): Promise<bigint[]> => (await Promise.all(living.map(reap))).flat()

/** The last look at a process, long after its end: it finds nothing, and none comes after it. */
async function lastLook({ processId }: Server): Promise<void> {
  await database.sql(`update processes set ended_at = ended_at - interval '121 seconds' where id = $1`, [processId])
  expect(await look()).toEqual([])
  const [row] = await database.sql(`select reaped_at is not null as done from processes where id = $1`, [processId])
  expect(row).toEqual({ done: true })
}

/** So many questions to the database later, each about as long as a step of the reaper. */
async function afterTrips(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await database.sql('select 1')
}

/** Claims the Idempotency-Key of a call by one server or another. */
function claimOf(id: bigint) {
  const requestId = `request ${id}`
  const request = { accountId: OWNER, route: '/a', key: requestId, body: {}, requestId }
  return (by: Server) => claimKey({ ...by, onTrouble: () => expect.unreachable() }, request)
}

/** What is written of a hold: its end, its flag, its place on the lists, and what was told of it. */
const writtenOf = async (id: bigint) =>
  (
    await database.sql(
      `select (select array_agg(kind || ' ' || actual_micro) from hold_resolutions where hold_id = $1) as ends,
              (select array_agg(flag) from hold_flags where hold_id = $1)::text[] as flags,
              (select count(*)::int from settlements where hold_id = $1) as listed,
              (select count(*)::int from outbox where event = 'settlement.pending' and payload->>'call_id' = $1::text) as told,
              (select array_agg(amount_micro::int) from transfers where kind = 'capture' and hold_id = $1) as moved`,
      [id],
    )
  )[0]

test('a capture beside the reapers of two servers is the one end of its hold: they lose to it, or it settles what they marked', {
  timeout,
}, async () => {
  const before = await balanceOf(database)
  const ways = ['captured unseen', 'captured before its flag', 'captured after its flag']
  await repeatedRace('capture against reaper', REPEATS, ways, async (turn) => {
    const dying = await server(DEAD_PID)
    const id = await dying.ledger.nextHoldId()
    const claim = claimOf(id)
    const claimed = await claim(dying)
    expect(await dying.ledger.reserve(reserveOf(id, 10n))).toMatchObject({ kind: 'reserved' })
    const end = () =>
      dying.ledger.end({ operation: 'capture', holdId: id, actualMicro: amount(7), outcome: 'success', usage: null })
    const [captured, looked] = await inTurns(
      turn,
      async () => {
        await afterTrips(turn % 9)
        const { kind } = await end()
        const marked = (await writtenOf(id))?.flags !== null
        if (claimed.kind === 'first') await claimed.complete({ status: 200, headers: {}, body: 'seven' })
        return { kind, marked }
      },
      look,
    )
    expect(captured.kind).toBe('captured')
    // asked again, it says the same, and the next look changes nothing
    expect((await end()).kind).toBe('captured')
    await lastLook(dying)
    const { flags, ...written } = (await writtenOf(id)) ?? {}
    const { marked } = captured
    // a flag that was not there when the capture was answered never comes: the reaper has lost
    expect(flags).toEqual(marked ? ['usage_unknown'] : null)
    expect(written).toEqual({ ends: ['captured 7'], moved: [7], listed: Number(marked), told: Number(marked) })
    // what the call was answered is what its repeats get, though others had taken its process for dead
    expect(await claim(living[0] as Server)).toMatchObject({ kind: 'replay', answer: { status: 200, body: 'seven' } })
    await dying.applier.close()
    if (marked) return 'captured after its flag'
    return looked.includes(id) ? 'captured before its flag' : 'captured unseen'
  })
  expect(await balanceOf(database)).toEqual({
    posted: before.posted - 7n * BigInt(REPEATS),
    held: before.held,
    charged: before.charged + 7n * BigInt(REPEATS),
  })
  expect(await auditLedger(database.db)).toEqual([])
})

test('a hold that a process makes while it is reaped is refused, or marked by this look or by the next, and its key stands for it alone', {
  timeout,
}, async () => {
  const before = await balanceOf(database)
  let held = before.held
  const ways = ['refused', 'marked at once', 'marked by the next look']
  await repeatedRace('reserve against reaper', REPEATS, ways, async (turn) => {
    const dying = await server(DEAD_PID)
    // its lane is open, as a server's is, so that the hold is as fast as the look
    await dying.ledger.reserve(reserveOf(await dying.ledger.nextHoldId(), CREDITS * 2n))
    const id = await dying.ledger.nextHoldId()
    const claimed = claimOf(id)
    await claimed(dying)
    const [made, looked] = await inTurns(
      turn,
      async () => {
        await afterTrips(turn % 5)
        return dying.ledger.reserve(reserveOf(id, 10n)).catch((error: unknown) => error)
      },
      look,
    )
    // while it may have been made, its call is in progress, or interrupted once its hold was marked: never begun anew
    await claimed(living[0] as Server).then(
      ({ kind }) => expect(kind).toBe('replay'),
      (error: unknown) => expect(error).toMatchObject({ code: 'request_in_progress' }),
    )
    const next = await look()
    await lastLook(dying)
    const again = await claimed(living[0] as Server)
    await dying.applier.close()
    if (made instanceof Fault) {
      expect(made.code).toBe('unavailable')
      expect(again.kind).toBe('first')
      expect(await database.sql('select id from holds where id = $1', [id])).toEqual([])
      return 'refused'
    }
    expect(made).toMatchObject({ kind: 'reserved' })
    expect(again).toMatchObject({ kind: 'replay', answer: { status: 502 } })
    held += 10n
    expect(await writtenOf(id)).toEqual({ ends: null, moved: null, flags: ['usage_unknown'], listed: 1, told: 1 })
    expect([...looked, ...next]).toContain(id)
    return looked.includes(id) ? 'marked at once' : 'marked by the next look'
  })
  expect(await balanceOf(database)).toEqual({ ...before, held })
  expect(await auditLedger(database.db)).toEqual([])
})
