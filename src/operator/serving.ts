import { serve } from '../app/serve.ts'
import { loadConfig } from '../config/config.ts'
import type { AddCommands } from './program.ts'

/** `farebox serve`: the server for production, on a database of the operator's own. */
export const servingCommands: AddCommands = (program, around) => {
  program
    .command('serve')
    .description('serve the API; settings come from the environment and farebox.yaml')
    .action(async () => {
      const { config, secrets } = loadConfig({
        environment: around.environment,
        readFile: around.readFile,
        now: around.clock.now(),
        mode: 'production',
      })
      const { databaseUrl, keyPepper } = secrets
      if (databaseUrl === undefined || keyPepper === undefined)
        throw new Error('DATABASE_URL and FAREBOX_KEY_PEPPER must be set: see docs/configuration.md')
      const serving = await serve(around, {
        config,
        secrets,
        databaseUrl,
        pepper: keyPepper,
        logLevel: config.logLevel,
      })
      await serving.ended
    })
}
