import { sql } from 'kysely'
import { closedHour, rollUpUsage } from '../src/billing/usage/roll-up/service.ts'
import { openDatabase } from '../src/db/database.ts'
import { newOwner } from '../test/browser/people.ts'
import { buildConsole, startWorld } from '../test/browser/running.ts'
import { joinWorld } from '../test/browser/world.ts'
import { GRANT_MICRO } from './database.ts'
import { writeHistory } from './history.ts'
import { median } from './statistics.ts'

/**
 * `npm run bench:console`: how soon an owner of a million calls sees the home page, in a real Chromium beside the
 * server: the first paint of anything, the balance, and the chart of the week. Prints the medians.
 */
const CALLS = Number(process.env.FAREBOX_BENCH_CALLS ?? 1_000_000)
const LOADS = 15
const MICRO = 1_000_000n

/** Notes when each of these is on the page, in milliseconds since its address was asked for. */
const watch = `
  globalThis.seen = {}
  new MutationObserver(() => {
    if (document.querySelector('.figure dd')) seen.balance ??= performance.now()
    if (document.querySelector('.chart rect')) seen.chart ??= performance.now()
  }).observe(document, { childList: true, subtree: true })`
const told = `({ ...seen, paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime })`

await buildConsole()
const { running, stop } = await startWorld()
try {
  const world = await joinWorld(running)
  const owner = await newOwner(world, { name: 'million', credits: Number(BigInt(GRANT_MICRO) / MICRO) })
  const economy = { url: running.development.database_url, accounts: [{ id: BigInt(owner.accountId) }] }
  await writeHistory(economy, CALLS, (written) => console.log(`${written} calls written`))
  await rollUp(running.development.database_url)

  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.addInitScript(watch)
  await visitor.signIn(page, owner.email)
  const times: Array<Record<string, number>> = []
  for (let load = 0; load < LOADS; load += 1) {
    await page.goto('/console')
    await page.locator('.chart rect').first().waitFor({ state: 'attached' })
    times.push(await page.evaluate(told))
  }
  for (const what of ['paint', 'balance', 'chart'])
    console.log(`${what.padEnd(8)} ${median(times.map((time) => time[what] ?? Number.NaN)).toFixed(0)} ms`)
  await world.stop()
} finally {
  await stop()
}

/** Sums the usage of the days that a home page reads, as the server would have done in their time. */
async function rollUp(url: string): Promise<void> {
  const { db, pool } = openDatabase({ url, connections: 1, statementTimeoutMs: 600_000, onIdleError: () => undefined })
  await sql`update usage_rolled set rolled_until = date_trunc('day', now()) - interval '8 days'`.execute(db)
  await rollUpUsage(db, await closedHour(db))
  await pool.end()
}
