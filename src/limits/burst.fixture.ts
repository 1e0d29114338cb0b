import { createInterface } from 'node:readline'
import { openDatabase } from '../db/database.ts'
import { createLimiter } from './limiter.ts'

// A process of its own that sends requests of one key, and prints how many were allowed: for each line of
// standard input, that many at once.
const [url = '', limit = '0', at = '0'] = process.argv.slice(2)
const { db, pool } = openDatabase({
  url,
  connections: 4,
  statementTimeoutMs: 10_000,
  onIdleError: () => undefined,
})
const clock = { now: () => new Date(Number(at)), monotonicMs: () => performance.now() }
const limiter = createLimiter({
  db,
  clock,
  onTrouble: (message) => {
    throw new Error(message)
  },
})
const quota = { name: 'credential', requests: Number(limit), windowMs: 60_000 }
for await (const line of createInterface({ input: process.stdin })) {
  const standings = await Promise.all(Array.from({ length: Number(line) }, () => limiter.take(quota, 'burst')))
  process.stdout.write(`${standings.filter((standing) => standing?.allowed).length}\n`)
}
await pool.end()
