import { countWaiting } from '../../administration/holds/store.ts'
import { APPLICATION_ROLE, type Database, openDatabase } from '../../db/database.ts'
import { durabilityProblems } from '../../db/durability.ts'
import { MigrationFault, pendingMigrations, sqlFiles } from '../../db/migrate.ts'
import { isWellFormed, keyHash } from '../../identity/keys/secret.ts'
import { findByHash } from '../../identity/keys/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isConnectionLost } from '../../kernel/connection-lost.ts'
import { age, amount } from '../../terminal/output.ts'
import { explain } from '../explain.ts'
import type { Wiring } from '../settings.ts'
import * as store from '../store/health.ts'
import { type Check, failed, ok, skipped, warning } from './check.ts'

const STATEMENT_TIMEOUT_MS = 15_000
/** A whole audit of a large ledger takes minutes: here it is only tried. */
const AUDIT_TIMEOUT_MS = 10_000
const SKEW_WARNING_MS = 1000
const SKEW_FAILED_MS = 5000
const MEBIBYTE = 1_048_576n

/** Everything about the database that can be asked without changing it. `unavailable`: it could not be reached at all. */
export async function checkDatabase(wiring: Wiring, clock: Clock): Promise<{ checks: Check[]; unavailable: boolean }> {
  if (wiring.databaseUrl === undefined) {
    return {
      checks: [failed('database', 'DATABASE_URL is not set', 'Set it, or run this where `npm start` ran.')],
      unavailable: false,
    }
  }
  const { db, pool } = openDatabase({
    url: wiring.databaseUrl,
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: () => undefined,
  })
  try {
    const checks = await checkServer(db, clock)
    checks.push(durability(await durabilityProblems(pool)))
    const schema = await checkSchema(db)
    checks.push(schema)
    if (schema.status !== 'ok')
      return {
        checks: [...checks, skipped('ledger', 'not asked before the schema is right')],
        unavailable: false,
      }
    checks.push(await checkRole(db), await checkPepper(db, wiring), ...(await checkLedger(db)))
    return { checks, unavailable: false }
  } catch (error) {
    return {
      checks: [failed('database', 'it cannot be asked', explain(error).message)],
      unavailable: isConnectionLost(error),
    }
  } finally {
    await pool.end()
  }
}

async function checkServer(db: Database, clock: Clock): Promise<Check[]> {
  await store.facts(db) // the first question pays for the connection, which would count as skew
  const before = clock.now().getTime()
  const facts = await store.facts(db)
  const after = clock.now().getTime()
  // where on the way the database looked at its clock is not known: only what lies outside is skew
  const at = facts.now.getTime()
  const skewMs = at < before ? before - at : at > after ? at - after : 0
  const fix = 'Let both machines follow the same time server: prices come into force and tokens expire by these clocks.'
  const skew = `${skewMs} ms apart`
  return [
    facts.login_is_superuser
      ? warning(
          'database',
          `PostgreSQL ${facts.version}, ${facts.size_bytes / MEBIBYTE} MiB; the login ${facts.login_role} is a superuser`,
          'Connect as a role of its own that owns the schema and nothing else.',
        )
      : ok('database', `PostgreSQL ${facts.version}, ${facts.size_bytes / MEBIBYTE} MiB, login ${facts.login_role}`),
    skewMs >= SKEW_FAILED_MS
      ? failed('clocks', skew, fix)
      : skewMs >= SKEW_WARNING_MS
        ? warning('clocks', skew, fix)
        : ok('clocks', skew),
  ]
}

function durability(problems: readonly string[]): Check {
  if (problems.length === 0) return ok('durability', 'fsync, full_page_writes and synchronous_commit are on')
  return failed(
    'durability',
    problems.join(' '),
    'Change it in postgresql.conf and reload; the server refuses to start until then.',
  )
}

async function checkSchema(db: Database): Promise<Check> {
  try {
    const pending = await pendingMigrations(() => store.schemaRows(db))
    if (pending.length > 0) return failed('schema', `not applied: ${pending.join(', ')}`, 'Run `farebox migrate`.')
    return ok('schema', `${(await sqlFiles('migrations')).at(-1)?.name}, nothing pending`)
  } catch (error) {
    if (error instanceof MigrationFault) return failed('schema', error.message, 'Run the newer farebox.')
    throw error
  }
}

async function checkRole(db: Database): Promise<Check> {
  const excess = await store.excessRights(db)
  if (excess.length === 0) return ok('application role', `${APPLICATION_ROLE} owns nothing and cannot write balances`)
  return failed(
    'application role',
    `${APPLICATION_ROLE}: ${excess.join(', ')}`,
    'Revoke that: balances may change only through the ledger functions.',
  )
}

/** A pepper proves itself only by a key that is known to exist: the development economy has one. */
async function checkPepper(db: Database, wiring: Wiring): Promise<Check> {
  const name = 'key pepper'
  if (wiring.keyPepper === undefined)
    return failed(
      name,
      'FAREBOX_KEY_PEPPER is not set',
      'Set it to the value that the servers use, or once to the output of `openssl rand -hex 32`.',
    )
  const key = wiring.developmentKey
  if (key === undefined || !isWellFormed(key))
    return ok(name, 'set; `farebox key whois` with a working key proves that it is the right one')
  if ((await findByHash(db, keyHash(key, wiring.keyPepper))) !== undefined)
    return ok(name, 'set, and the keys of dev.json match it')
  return failed(
    name,
    'the keys of dev.json do not match it',
    'Restore the key-pepper file of the data folder: with another one no key works.',
  )
}

async function checkLedger(db: Database): Promise<Check[]> {
  const waiting = await countWaiting(db)
  const findings = await store.auditWithin(db, AUDIT_TIMEOUT_MS)
  return [
    findings === undefined
      ? skipped('ledger', `larger than what ${AUDIT_TIMEOUT_MS / 1000} s can audit: run \`farebox audit\``)
      : findings > 0n
        ? failed('ledger', `${findings} numbers differ`, 'Run `farebox audit` and keep its output.')
        : ok('ledger', 'every balance follows from its rows'),
    waiting.length === 0
      ? ok('open holds', 'none waits for a decision')
      : warning(
          'open holds',
          waiting
            .map((row) => `${row.holds} ${row.flag} (${amount(row.micro)}, oldest ${age(row.oldest_seconds)})`)
            .join(', '),
          'See `farebox hold list`.',
        ),
  ]
}
