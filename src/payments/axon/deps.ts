import type { Database } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Rates } from './rates/service.ts'
import type { Coin } from './settings.ts'

/** How native payments are doing, for /readyz, metrics and the question whether quotes may be made. */
export interface AxonStatus {
  /** False before the start check has passed, and while nodes fail. */
  readonly usable: boolean
  /** When the chain was last read, and why it cannot be. Names no address. */
  readonly lastReadAt: Date | undefined
  readonly trouble: string | undefined
}

/** What native payments need. */
export interface AxonDeps {
  readonly db: Database
  readonly clock: Clock
  /** undefined: no coin is taken here. */
  readonly coin: Coin | undefined
  readonly rates: Rates
  /** The verified wallets of an account, lower-case, the one to pay from first. */
  readonly payerWallets: (accountId: bigint) => Promise<readonly string[]>
  readonly status: () => AxonStatus
  /** Trouble that no request can be told of. */
  readonly onTrouble: (message: string, error: unknown) => void
  /** A claim waits: look at once. Never blocks. */
  readonly wake: () => void
}
