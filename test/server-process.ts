import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as accounts from '../src/identity/accounts/store.ts'
import { createKey } from '../src/identity/keys/service.ts'
import { microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { grantCredits } from '../src/ledger/grants.ts'
import { until } from './app.ts'
import type { TestDatabase } from './database.ts'

/** A server in a process of its own, as operators run it. */
export interface ServerProcess {
  readonly child: ChildProcess
  /** All that it wrote to stdout and stderr. */
  output(): string
  /** Its address, once it listens; rejects when it ends instead. */
  listening(): Promise<string>
}

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** Runs `farebox serve` on a free port of loopback. Nothing but PATH is inherited. */
export function spawnServer(folder: string, environment: Record<string, string>): ServerProcess {
  let output = ''
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', ...environment },
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const address = () => /"address":"(http[^"]+)"/.exec(output)?.[1]
  return {
    child,
    output: () => output,
    async listening() {
      await until(() => address() !== undefined || child.exitCode !== null, 'the server listens')
      const found = address()
      if (found === undefined) throw new Error(`the server did not start: ${output}`)
      return found
    },
  }
}

/** An account with Credits and a key under the given pepper (hex); gives the key. */
export async function keyOfNewAccount(database: TestDatabase, pepper: string, creditsMicro: bigint): Promise<string> {
  const accountId = await database.db
    .transaction()
    .execute((tx) =>
      accounts.insert(tx, { accountType: 'owner', walletAddress: undefined, email: undefined, label: undefined }),
    )
  if (creditsMicro > 0n) {
    await grantCredits(database.db, {
      source: 'operator',
      sourceId: String(accountId),
      accountId,
      bucket: 'promo',
      amountMicro: microcredits(creditsMicro),
      expiresAt: undefined,
      reason: 'a test',
      grantedBy: 'operator:test',
    })
  }
  return (await createKey({ db: database.db, random: systemRandom, pepper: Buffer.from(pepper, 'hex') }, { accountId }))
    .secret
}
