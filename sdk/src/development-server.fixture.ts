import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { packagedConfigurationFile } from '../../src/config/config.ts'
import type { DevelopmentFile } from '../../src/development/economy.ts'
import { startServer } from '../../test/crash/server.ts'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'

/** What `npm start` runs, fresh, with its chain and its wallets. */
export interface DevelopmentServer {
  readonly url: string
  readonly development: DevelopmentFile
  readonly database: TestDatabase
  stop(): Promise<void>
}

/** Starts it. Call it in beforeAll and `stop` in afterAll. */
export async function startDevelopmentServer(): Promise<DevelopmentServer> {
  const [database, folder] = await Promise.all([freshDatabase(), mkdtemp(join(tmpdir(), 'farebox-sdk-server-'))])
  const configFile = packagedConfigurationFile
  const server = await startServer({ dataFolder: folder, databaseUrl: database.url, configFile })
  return {
    url: server.baseUrl,
    development: JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevelopmentFile,
    database,
    async stop() {
      await server.kill()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The wallet of a private key in hexadecimal. */
export const walletOf = (privateKey: string): PrivateKeyAccount => privateKeyToAccount(privateKey as `0x${string}`)
