import pg from 'pg'
import { systemClock } from '../../src/kernel/clock.ts'
import { microcredits } from '../../src/kernel/money.ts'
import { createApplier } from '../../src/ledger/applier.ts'
import { openLane } from '../../src/ledger/lane.ts'
import type { Applied } from '../../src/ledger/operations.ts'
import { ACCOUNTS, KEYS, type Name } from './commands.ts'
import { type Deed, sqlOf } from './concurrent-deeds.ts'
import type { LedgerCommand } from './model.ts'
import { operationOf } from './statements.ts'

/** One of the servers of the concurrent model: so many lanes that each do one thing after another. */
const [, , url = '', processId = '1', seed = '1', lanes = '64', operations = '100'] = process.argv
const lane = openLane({ url, processId: BigInt(processId), answerTimeoutMs: 60_000 })
const applier = createApplier({ lane, clock: systemClock, batchMax: 512, queueMax: 10_000, patienceMs: 60_000 })
const pool = new pg.Pool({ connectionString: url, max: 6 })
const replies: string[] = []
const sent: LedgerCommand[] = []
const made: Array<{ id: bigint; actor: Name }> = []
let left = Number(operations)
let nextId = BigInt(processId) * 1_000_000n
let state = Number(seed) * 7919 + Number(processId)

/** mulberry32: the same choices for the same seed, though not the same interleaving. */
function random(below: number): number {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) % below
}
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T

async function submit(command: LedgerCommand): Promise<Applied> {
  left -= 1
  sent.push(command)
  const applied = await applier.submit(operationOf(command))
  replies.push([command.id, command.operation, applied.status, applied.amountMicro, applied.availableMicro].join(' '))
  return applied
}

async function deed(what: Deed): Promise<void> {
  left -= 1
  const { sql, lock } = sqlOf(what)
  for (;;) {
    try {
      await pool.query('select do_logged($1, $2, $3)', [JSON.stringify(what), lock, sql])
      return
    } catch (error) {
      const code = (error as { code?: unknown }).code
      if (code !== '40001' && code !== '40P01') throw error
    }
  }
}

/** A call from its hold to its end, and often what comes after it. */
async function call(): Promise<void> {
  const key = pick(Object.keys(KEYS)) as keyof typeof KEYS
  const actor = KEYS[key].account
  const wanted = BigInt(1 + random(random(3) > 0 ? 60 : 900))
  const minimum = random(3) > 0 ? wanted : (wanted + 1n) / 2n
  nextId += 1n
  const id = nextId
  const { status, amountMicro: held = 0n } = await submit({ operation: 'reserve', id, actor, key, wanted, minimum })
  if (status !== 'reserved') return
  made.push({ id, actor })
  const way = random(10)
  if (way === 0) await submit({ operation: 'void', id })
  else {
    if (way <= 2) await submit({ operation: 'unknown', id })
    if (way === 1) return
    const share = BigInt(pick([0, 40, 99, 100, 100, 130, 250]))
    const outcome = pick(['success', 'failed'] as const)
    const end = { operation: 'capture', id, actual: microcredits((held * share) / 100n), outcome } as const
    if ((await submit(end)).status === 'shortfall' && random(2) === 0) await deed({ do: 'authorize', id: Number(id) })
    if (outcome === 'failed' && random(2) === 0) await deed({ do: 'refund', id: Number(id), account: actor })
  }
}

/** Something that changes what others may do, or is done again. */
async function other(): Promise<void> {
  const before = pick(made)
  const agent = pick(['agent', 'strict'] as const)
  const account = pick(ACCOUNTS)
  switch (random(14)) {
    case 0:
    case 1:
    case 2: {
      const kind = pick(['promo', 'bonus', 'refunded', 'purchased'] as const)
      return deed({ do: 'grant', source: `${processId} ${left}`, account, kind, amount: 1 + random(900) })
    }
    case 3:
      return deed({ do: 'limits', budget: pick([1, 2, 3, 4] as const), total: pick([null, random(3_000)]) })
    case 4: {
      const mode = pick(['self_only', 'self_then_owner', 'owner_only'] as const)
      return deed({ do: 'terms', agent, mode, paused: random(5) === 0 })
    }
    case 5:
      return deed({ do: 'status', account, status: random(3) === 0 ? 'banned' : 'active' })
    case 6:
      return deed({ do: 'link', agent, to: pick(['owner', 'rival'] as const) })
    case 7:
      return deed({ do: 'unlink', agent })
    case 8:
      return deed({ do: pick(['expire', 'sweep', 'sweep'] as const), account })
    case 9:
    case 10:
      return before && deed({ do: 'authorize', id: Number(before.id) })
    case 11:
    case 12:
      return before && deed({ do: 'refund', id: Number(before.id), account: random(6) > 0 ? before.actor : account })
    default: {
      const earlier = pick(sent)
      if (earlier) await submit(earlier)
    }
  }
}

await Promise.all(
  Array.from({ length: Number(lanes) }, async () => {
    while (left > 0) await (random(4) > 0 ? call() : other())
  }),
)
await applier.close()
await pool.end()
process.send?.(replies)
process.disconnect?.()
