import { migrate } from '../db/migrate.ts'
import { withJson } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import type { AddCommands } from './program.ts'
import { readWiring, requireDatabaseUrl } from './settings.ts'

/** `farebox migrate`: brings the database to this program's schema. */
export const migrateCommands: AddCommands = (program, around) => {
  withJson(
    program.command('migrate').description('bring the database to this version of the program; says what was applied'),
  ).action(async (options: { json?: boolean }) => {
    const databaseUrl = requireDatabaseUrl(readWiring(around))
    const { applied, functions } = await withProgress(around, 'migrating the database', () => migrate(databaseUrl))
    const lines = [...applied.map((name) => `applied    ${name}`), ...functions.map((name) => `rewritten  ${name}`)]
    print(around, options, {
      data: { applied, functions },
      text: lines.length > 0 ? lines.join('\n') : 'Up to date: nothing was applied.',
    })
  })
}
