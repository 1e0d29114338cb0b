import type { ModelConfig } from '../../config/models.ts'
import type { CoinReport } from '../../payments/axon/reconciliation/service.ts'
import type { ReconciliationReport } from '../../payments/watcher/reconciliation/service.ts'
import type { ChainStatus } from '../../payments/watcher/status.ts'

/** What only the running server knows. None of it leaves the process, but for `assets`, `coin` and `x402`, which ask the database. */
export interface RunningServer {
  readonly version: string
  readonly processId: bigint
  readonly host: string
  readonly pid: number
  readonly startedAt: Date
  /** True while the database does not take what the ledger writes. */
  readonly ledgerFailing: () => boolean
  readonly configuration: () => ActiveConfiguration
  readonly assets: () => Promise<readonly ReconciliationReport[]>
  readonly coin: () => Promise<CoinReport | undefined>
  readonly chains: () => readonly ChainStatus[]
  readonly axon: () =>
    | { readonly usable: boolean; readonly trouble: string | undefined; readonly lastReadAt: Date | undefined }
    | undefined
  readonly x402: () => Promise<{ readonly ok: boolean; readonly detail: string } | undefined>
  readonly providers: () => readonly ProviderStanding[]
  readonly jobs: () => readonly JobStanding[]
  /** What the last whole audit of the ledger by this process found, and the increments since; undefined before the first. */
  readonly audit: () => { readonly findings: number; readonly at: Date } | undefined
}

/** The configuration in force. */
export interface ActiveConfiguration {
  readonly file: string
  /** A short hash of it: servers that show the same one sell the same. */
  readonly fingerprint: string
  /** Why the file was not taken over when it was last read. */
  readonly refused: string | undefined
  /** Versions of capabilities whose calls are refused. */
  readonly drifted: readonly string[]
  readonly models: readonly ModelConfig[]
}

/** How a provider answered this process. */
export interface ProviderStanding {
  readonly name: string
  readonly kind: string
  readonly lastAttemptAt: Date | undefined
  /** The word for how the last attempt ended, such as `stream` or `refused`. */
  readonly lastOutcome: string | undefined
  readonly lastGoodAt: Date | undefined
  readonly failuresInARow: number
  readonly attempts: number
}

/** How a kind of upkeep runs in this process. */
export interface JobStanding {
  readonly name: string
  readonly everyMs: number
  /** When its last round ended; undefined before the first. */
  readonly endedAt: Date | undefined
  readonly failed: boolean
}
