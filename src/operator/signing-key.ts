import { loadConfig } from '../config/config.ts'
import { openDatabase } from '../db/database.ts'
import { rotateSigningKey } from '../identity/tokens/keyring.ts'
import * as store from '../identity/tokens/store.ts'
import type { AddCommands } from './program.ts'

/** `farebox signing-key`: the keys that sessions are signed with. API keys do not depend on them. */
export const signingKeyCommands: AddCommands = (program, around) => {
  const noun = program.command('signing-key').description('the keys that access and refresh tokens are signed with')
  const open = () => {
    const { secrets } = loadConfig({ environment: around.environment, readFile: around.readFile, now: around.clock.now(), mode: 'production' })
    const { databaseUrl, keyPepper } = secrets
    if (databaseUrl === undefined || keyPepper === undefined) throw new Error('DATABASE_URL and FAREBOX_KEY_PEPPER must be set: see docs/configuration.md')
    return { ...openDatabase({ url: databaseUrl, connections: 1, statementTimeoutMs: 10_000, onIdleError: () => undefined }), pepper: keyPepper }
  }

  noun
    .command('rotate')
    .description('sign new tokens with a new key; the old one verifies until its last token has expired')
    .option('--drop-old', 'end every older key now, because it leaked: all sessions have to sign in again')
    .action(async ({ dropOld = false }: { dropOld?: boolean }) => {
      const { db, pool, pepper } = open()
      const kid = await rotateSigningKey({ db, pepper, random: around.random }, { dropOld }).finally(() => pool.end())
      around.write(`${kid} signs from now on; every server uses it within 30 seconds.\n${dropOld ? 'Older keys verify nothing any more: all sessions have to sign in again.\n' : ''}`)
    })

  noun
    .command('list')
    .description('list the keys, newest first')
    .action(async () => {
      const { db, pool } = open()
      const rows = await store.allKeys(db).finally(() => pool.end())
      const now = around.clock.now()
      for (const { kid, created_at, verifies_until } of rows) {
        const state = verifies_until === null ? 'signs' : verifies_until > now ? `verifies until ${verifies_until.toISOString()}` : 'expired'
        around.write(`${kid}  made ${created_at.toISOString()}  ${state}\n`)
      }
    })
}
