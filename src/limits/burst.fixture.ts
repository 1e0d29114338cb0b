import { openDatabase } from '../db/database.ts'
import { createLimiter } from './limiter.ts'

// A process of its own that sends one burst at one key, and prints how much of it was allowed.
const [url = '', requests = '0', limit = '0', at = '0'] = process.argv.slice(2)
const { db, pool } = openDatabase({ url, connections: 4, statementTimeoutMs: 10_000, onIdleError: () => undefined })
const clock = { now: () => new Date(Number(at)), monotonicMs: () => performance.now() }
const limiter = createLimiter({
  db,
  clock,
  onTrouble: (message) => {
    throw new Error(message)
  },
})
const quota = { name: 'credential', requests: Number(limit), windowMs: 60_000 }
// one at a time, as a client does it, and then all at once
let allowed = 0
for (let n = 0; n < Number(requests) / 4; n++) if ((await limiter.take(quota, 'burst'))?.allowed) allowed++
const rest = await Promise.all(Array.from({ length: (Number(requests) * 3) / 4 }, () => limiter.take(quota, 'burst')))
process.stdout.write(String(allowed + rest.filter((standing) => standing?.allowed).length))
await pool.end()
