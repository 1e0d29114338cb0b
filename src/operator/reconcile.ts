import { inCredits } from '../kernel/money.ts'
import { coinText } from '../payments/axon/amounts.ts'
import { coinReport } from '../payments/axon/reconciliation/service.ts'
import { reconciliationReports } from '../payments/watcher/reconciliation/service.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { print, table } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'
import { comparedAssets } from './store/reconciliations.ts'

/** `farebox reconcile`: what the chain shows that we received, beside what was credited for it. */
export const reconcileCommands: AddCommands = (program, around) => {
  withJson(
    program
      .command('reconcile')
      .description('show what was received on chain against what was credited; exit code 1 on any difference'),
  ).action(async (options: { json?: boolean }) => {
    const { reports, coin } = await withDatabase(around, 'reading the comparisons', async ({ db }) => ({
      reports: await reconciliationReports(db, await comparedAssets(db), around.clock.now()),
      coin: await coinReport(db, around.clock.now()),
    }))
    const assetRows = reports.map((report) => [
      report.assetId,
      report.ok ? 'ok' : 'NOT OK',
      inCredits(report.received),
      inCredits(report.credited),
      inCredits(report.unmatched),
      inCredits(report.drift),
      report.detail,
    ])
    const coinRows = coin
      ? [
          [
            coin.name,
            coin.ok ? 'ok' : 'NOT OK',
            coinText(coin.received),
            coinText(coin.credited),
            coin.unclaimed < 0n ? '0' : coinText(coin.unclaimed),
            coin.unclaimed < 0n ? `-${coinText(-coin.unclaimed)}` : '0',
            coin.detail,
          ],
        ]
      : []
    const rows = [...assetRows, ...coinRows]
    const head = ['ASSET', 'STATE', 'RECEIVED', 'CREDITED', 'NOT CREDITED', 'DRIFT', 'DETAIL']
    print(around, options, {
      data: { assets: reports, axon: coin === undefined ? null : inDigits(coin) },
      text:
        rows.length === 0
          ? 'Nothing was compared yet: a running server compares every few minutes.'
          : `${table(head, rows, ['RECEIVED', 'CREDITED', 'NOT CREDITED', 'DRIFT'])}\n\nAmounts are units of the asset.`,
    })
    if (reports.some(({ ok }) => !ok) || coin?.ok === false) {
      throw new ProgramFault(
        exitCodes.failed,
        'What the chain shows and what was credited differ, or the comparison is old. See `farebox review list` and /readyz before anything is corrected.',
      )
    }
  })
}

/** Wei does not fit a JSON number: amounts of the coin are digits. */
const inDigits = (coin: NonNullable<Awaited<ReturnType<typeof coinReport>>>) => ({
  ...coin,
  received: String(coin.received),
  credited: String(coin.credited),
  unclaimed: String(coin.unclaimed),
})
