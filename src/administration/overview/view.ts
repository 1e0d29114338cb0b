import type { Static } from 'typebox'
import { assets } from '../../chains/assets.ts'
import { inCredits, toJsonInteger as integer } from '../../kernel/money.ts'
import { coinText } from '../../payments/axon/amounts.ts'
import type { ModelMargin } from './margin.ts'
import type { RunningServer } from './running-server.ts'
import type { OverviewView } from './schema.ts'
import type { Overview } from './service.ts'

type View = Static<typeof OverviewView>
type TreasuryView = NonNullable<View['treasury']>[number]
type ChainView = NonNullable<View['chains']>[number]

const iso = (at: Date | null | undefined): string | null => at?.toISOString() ?? null

/** The overview in its wire form. */
export function overviewView(all: Overview, server: RunningServer): View {
  return {
    as_of: all.now.toISOString(),
    server: serverView(all, server),
    treasury: treasuryViews(all),
    margin: marginPart(all),
    providers: providersPart(all, server),
    ...chainParts(all),
    jobs: all.jobs.map(({ state, name, endedAt, everyMs }) => ({
      state,
      name,
      as_of: iso(endedAt),
      every_seconds: everyMs / 1000,
    })),
    ...waitingParts(all),
    audit: all.audit
      ? { state: all.audit.state, as_of: all.audit.auditedUntil.toISOString(), findings: all.audit.findings ?? null }
      : null,
  }
}

const marginPart = ({ margin }: Overview): View['margin'] =>
  margin
    ? {
        as_of: margin.to.toISOString(),
        from: margin.from.toISOString(),
        models: margin.models.slice(0, MODELS_SHOWN_MAX).map(marginView),
      }
    : null

const providersPart = ({ providers }: Overview, server: RunningServer): View['providers'] => ({
  scope: `this process, ${server.host}:${server.pid}`,
  since: server.startedAt.toISOString(),
  list: providers.map((provider) => ({
    state: provider.state,
    name: provider.name,
    kind: provider.kind,
    last_attempt_at: iso(provider.lastAttemptAt),
    last_outcome: provider.lastOutcome ?? null,
    last_good_at: iso(provider.lastGoodAt),
    failures_in_a_row: provider.failuresInARow,
    attempts: provider.attempts,
  })),
})

const chainParts = ({ now, chains, x402, native }: Overview): Pick<View, 'chains' | 'x402' | 'native'> => ({
  chains: chains?.map(chainView) ?? null,
  x402: x402 ? { as_of: now.toISOString(), ...x402 } : null,
  native: native ? { state: native.state, as_of: iso(native.readAt), detail: native.detail } : null,
})

/** What waits for somebody. */
function waitingParts(all: Overview): Pick<View, 'holds' | 'reviews' | 'tasks' | 'webhooks'> {
  const as_of = all.now.toISOString()
  const { holds, reviews, tasks, webhooks } = all
  return {
    holds: holds
      ? {
          as_of,
          list: holds.map(({ state, flag, holds: number, micro, oldest }) => ({
            state,
            flag,
            holds: number,
            held_micro: integer(micro),
            oldest_at: oldest.toISOString(),
          })),
        }
      : null,
    reviews: reviews
      ? {
          as_of,
          ...picked(reviews, ['state', 'orders', 'transfers', 'native', 'x402']),
          oldest_at: iso(reviews.oldest),
        }
      : null,
    tasks: tasks
      ? {
          as_of,
          state: tasks.state,
          open: tasks.open,
          being_worked_on: tasks.leased,
          overdue_since: iso(tasks.overdue_since),
        }
      : null,
    webhooks: webhooks
      ? {
          as_of,
          ...picked(webhooks, ['state', 'events', 'deliveries', 'failing', 'disabled']),
          due_since: iso(webhooks.dueSince),
        }
      : null,
  }
}

const MODELS_SHOWN_MAX = 100

const picked = <T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>

const serverView = ({ now, server: { state, running, configuration } }: Overview, server: RunningServer) => ({
  state,
  as_of: now.toISOString(),
  version: server.version,
  process_id: integer(server.processId),
  process: `${server.host}:${server.pid}`,
  started_at: server.startedAt.toISOString(),
  running: running.map(({ host, pid }) => `${host}:${pid}`),
  ledger_ok: !server.ledgerFailing(),
  configuration: {
    file: configuration.file,
    fingerprint: configuration.fingerprint,
    refused: configuration.refused ?? null,
    drifted: [...configuration.drifted],
  },
})

function treasuryViews({ treasury, coin }: Overview): TreasuryView[] | null {
  if (!treasury) return null
  const assets = treasury.map(({ state, at, assetId, detail, received, credited, unmatched, drift }) => ({
    state,
    as_of: iso(at),
    asset: assetId,
    found:
      at === undefined
        ? ('not_compared' as const)
        : drift !== 0n
          ? ('drift' as const)
          : state === 'ok'
            ? ('equal' as const)
            : ('stale' as const),
    detail,
    received: inCredits(received),
    credited: inCredits(credited),
    not_credited: inCredits(unmatched),
    drift: inCredits(drift),
  }))
  return coin ? [...assets, coinView(coin)] : assets
}

/** More credited than arrived is drift; less is what nobody redeemed yet. */
function coinView(coin: NonNullable<Overview['coin']>): TreasuryView {
  const { state, stale, at, name, detail, received, credited, unclaimed } = coin
  const over = unclaimed < 0n ? -unclaimed : 0n
  return {
    state,
    as_of: iso(at),
    asset: name,
    found: state === 'ok' ? 'equal' : over > 0n || !stale ? 'drift' : 'stale',
    detail,
    received: coinText(received),
    credited: coinText(credited),
    not_credited: coinText(unclaimed < 0n ? 0n : unclaimed),
    drift: over > 0n ? `-${coinText(over)}` : '0',
  }
}

const marginView = ({ model, calls, errors, netMicro, costMicro, netKnownMicro, complete }: ModelMargin) => ({
  model,
  calls: integer(calls),
  errors: integer(errors),
  net_micro: integer(netMicro),
  cost_micro: costMicro === undefined ? null : integer(costMicro),
  net_known_micro: integer(netKnownMicro),
  margin_percent:
    costMicro === undefined || netKnownMicro <= 0n
      ? null
      : Number(((netKnownMicro - costMicro) * 1000n) / netKnownMicro) / 10,
  complete,
})

const networkName = (chainId: bigint): string =>
  assets.find((asset) => BigInt(asset.chainId) === chainId)?.networkName ?? `chain ${chainId}`

function chainView(chain: NonNullable<Overview['chains']>[number]): ChainView {
  const { state, lastReadAt, chainId, behind, headAt, reading, isRead, stopped, trouble } = chain
  return {
    state,
    as_of: iso(lastReadAt),
    chain_id: integer(chainId),
    blocks_behind: integer(behind),
    head_at: iso(headAt),
    network_name: networkName(chainId),
    read_by: reading ? 'this_process' : isRead ? 'another_process' : 'nobody',
    stopped,
    detail: trouble ?? 'read',
  }
}
