import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { BALANCES, type Balances, modelBalances } from './balances.ts'
import { ACCOUNTS } from './commands.ts'
import { type Deed, inModel } from './concurrent-deeds.ts'
import type { LedgerCommand, Model, Outcome } from './model.ts'
import * as statement from './statements.ts'
import { answered, nameOf, reduced } from './statements.ts'
import { makeWorld, opening } from './world.ts'

/** The long form: npm run test:model. */
const OPERATIONS = Number(process.env.FAREBOX_CONCURRENT_OPERATIONS ?? 300)
const SEED = Number(process.env.FAREBOX_MODEL_SEED ?? 1)
const PROCESSES = 3
const LANES = 64

/**
 * Every flush and every deed notes what was asked and answered, with the next number of a sequence, before its
 * transaction ends. Whatever touches a family holds its lock until then, so within a family these numbers are the
 * order of commits.
 */
const LOG = `
create table commit_log (n bigint primary key, asked json not null, answered json not null);
create sequence commit_order;
alter function ledger_apply(json) rename to ledger_apply_itself;
create function ledger_apply(operations json) returns table (ordinal int, status text, amount_micro bigint, available_micro bigint, detail json)
language plpgsql security definer as $$
declare
  answers json[] := '{}';
begin
  for ordinal, status, amount_micro, available_micro, detail in select * from ledger_apply_itself(operations) loop
    answers := answers || json_build_object('status', status, 'amount_micro', amount_micro, 'available_micro', available_micro, 'detail', detail);
    return next;
  end loop;
  insert into commit_log values (nextval('commit_order'), operations, to_json(answers));
end $$;
create function do_logged(asked json, lock bigint[], statement text) returns void language plpgsql as $$
declare
  answer json;
begin
  if cardinality(lock) > 0 then perform ledger_lock_families(lock); end if;
  execute statement into answer;
  insert into commit_log values (nextval('commit_order'), asked, coalesce(answer, '{}'));
end $$;
grant execute on function ledger_apply(json) to farebox_app`

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

interface Wire {
  readonly operation: LedgerCommand['operation']
  readonly id: number
  readonly actor_account_id: number
  readonly credential_id: number
  readonly wanted_micro: number
  readonly minimum_micro: number
  readonly actual_micro: number
  readonly outcome: Outcome
}

function commandOf(wire: Wire): LedgerCommand {
  const id = BigInt(wire.id)
  switch (wire.operation) {
    case 'reserve':
      return {
        operation: 'reserve',
        id,
        actor: nameOf(wire.actor_account_id),
        key: statement.keyOf(wire.credential_id),
        wanted: BigInt(wire.wanted_micro),
        minimum: BigInt(wire.minimum_micro),
      }
    case 'capture':
      return { operation: 'capture', id, actual: BigInt(wire.actual_micro), outcome: wire.outcome }
    default:
      return { operation: wire.operation, id }
  }
}

/** A flush in the model: ends first, then holds, and what everybody has left after all of it. */
function flushInModel(model: Model, flush: readonly Wire[]): unknown[] {
  const commands = flush.map(commandOf)
  const answers = new Map<number, ReturnType<Model['apply']>>()
  for (const reserves of [false, true])
    commands.forEach((command, index) => {
      if ((command.operation === 'reserve') === reserves) answers.set(index, model.apply(command))
    })
  return commands.map((command, index) => {
    const actor = command.operation === 'reserve' ? command.actor : model.holds.get(command.id)?.request.actor
    const answer = answers.get(index)
    return answered({ status: 'none', ...answer, available: actor === undefined ? undefined : model.spendable(actor) })
  })
}

const inAnyOrder = (seen: Balances): Balances => ({ ...seen, buckets: [...seen.buckets].sort() })

test(`${PROCESSES} processes with ${LANES} operations in flight each are answered as the model is, in the order in which each family's transactions were committed`, {
  timeout: 3_600_000,
}, async () => {
  for (const text of opening()) await database.sql(text)
  const world = makeWorld()
  for (const account of ACCOUNTS) {
    for (const [kind, expires, amount] of [
      ['purchased', null, 6_000n],
      ['promo', 3, 2_000n],
    ] as const) {
      const given = { source: `opening ${account} ${kind}`, account, kind, expires, amount }
      world.model.grant(given)
      await database.sql(statement.grant(given))
    }
  }
  await database.sql(LOG)

  const children: ChildProcess[] = Array.from({ length: PROCESSES }, (_, n) =>
    fork(new URL('./concurrent-process.ts', import.meta.url), [
      database.url,
      String(n + 1),
      String(SEED),
      String(LANES),
      String(OPERATIONS),
    ]),
  )
  const replies = (
    await Promise.all(
      children.map(async (child) => {
        const gone = once(child, 'exit').then(([code]) => Promise.reject(new Error(`a process ended with ${code}`)))
        gone.catch(() => undefined)
        const [reply] = await Promise.race([once(child, 'message'), gone])
        return reply as string[]
      }),
    )
  ).flat()

  const log = await database.sql<{ n: string; asked: Deed | Wire[]; answered: unknown }>(
    'select * from commit_log order by n',
  )
  const written = new Map<string, number>()
  for (const { n, asked, answered: answer } of log) {
    if (!Array.isArray(asked)) {
      expect({ n, asked, answer }).toEqual({ n, asked, answer: inModel(world.model, asked) })
      continue
    }
    const real = answer as Array<{ status: string; amount_micro: number | null; available_micro: number | null }>
    expect({ n, asked, answer: real.map(reduced) }).toEqual({ n, asked, answer: flushInModel(world.model, asked) })
    asked.forEach(({ id, operation }, index) => {
      const { status, amount_micro, available_micro } = real[index] ?? {}
      const reply = [id, operation, status, amount_micro ?? undefined, available_micro ?? undefined].join(' ')
      written.set(reply, (written.get(reply) ?? 0) + 1)
    })
  }
  // and what was answered in the database is what the callers were told
  for (const reply of replies) {
    const times = written.get(reply) ?? 0
    expect(times, reply).toBeGreaterThan(0)
    written.set(reply, times - 1)
  }
  const [seen] = await database.sql<{ json_build_object: Balances }>(BALANCES)
  if (!seen) throw new Error('no balances')
  expect(inAnyOrder(seen.json_build_object)).toEqual(inAnyOrder(modelBalances(world, false)))
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
  const flushes = log.filter(({ asked }) => Array.isArray(asked)).length
  process.stdout.write(
    `concurrent model: seed ${SEED}, ${replies.length} operations in ${flushes} flushes and ${log.length - flushes} deeds by ${PROCESSES} processes with ${LANES} in flight, all in order\n`,
  )
})
