import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { checkAxon } from './doctor/axon.ts'
import type { Check, CheckStatus } from './doctor/check.ts'
import { checkConfiguration, checkPrices } from './doctor/configuration.ts'
import { checkDatabase } from './doctor/database.ts'
import { checkDisk } from './doctor/disk.ts'
import { checkProviders } from './doctor/providers.ts'
import { checkResults } from './doctor/results.ts'
import { checkTopUps } from './doctor/x402.ts'
import type { AddCommands } from './program.ts'
import { readWiring } from './settings.ts'

const marks: Record<CheckStatus, string> = { ok: '✔', warning: '!', failed: '✗', skipped: '-' }

/** `farebox doctor`: looks at everything a server needs and says how to mend what is wrong. Changes nothing. */
export const doctorCommands: AddCommands = (program, around) => {
  withJson(
    program
      .command('doctor')
      .description('check settings, database, ledger, providers, prices, clocks and disk; changes nothing'),
  )
    .option('--offline', 'connect to no provider, node or rate source')
    .action(async (options: { json?: boolean; offline?: boolean }) => {
      const wiring = readWiring(around)
      const { checks, settings } = checkConfiguration(around, wiring)
      const now = around.clock.now()
      if (settings) checks.push(...checkPrices(settings.config, now))
      const offline = options.offline ?? false
      const [database, providers, topUps, results, axon, disk] = await withProgress(
        around,
        'looking at everything',
        () =>
          Promise.all([
            checkDatabase(wiring, around.clock),
            settings ? checkProviders(settings.config, { offline }) : [],
            settings ? checkTopUps(settings, around.clock, { offline }) : [],
            settings ? checkResults(settings, { clock: around.clock, offline }) : [],
            settings ? checkAxon({ ...settings, clock: around.clock }, { offline }) : [],
            checkDisk(wiring.dataFolder),
          ]),
      )
      checks.push(...database.checks, ...providers, ...topUps, ...results, ...axon, disk)
      const bad = checks.filter(({ status }) => status === 'failed').length
      print(around, options, { data: { healthy: bad === 0, checks }, text: checklist(checks) })
      if (bad > 0)
        throw new ProgramFault(
          database.unavailable ? exitCodes.unavailable : exitCodes.failed,
          `${bad} of ${checks.length} checks failed.`,
        )
    })
}

function checklist(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  return checks
    .map(
      ({ name, status, found, fix }) =>
        `${marks[status]} ${name.padEnd(width)}  ${found}${fix === undefined ? '' : `\n  ${''.padEnd(width)}  → ${fix}`}`,
    )
    .join('\n')
}
