import { type TProperties, Type } from 'typebox'
import { Closed, Integer, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import { inCredits } from '../../kernel/money.ts'
import { coinText } from '../../payments/axon/amounts.ts'
import type { ModelMargin } from './margin.ts'
import type { RunningServer } from './running-server.ts'
import type { Overview } from './service.ts'

const State = Type.Enum(['ok', 'warning', 'alarm', 'unknown'], {
  description:
    '`ok`: nothing to do; `warning`: look at it today; `alarm`: look at it now; `unknown`: nothing is known yet',
})
const Judged = <T extends TProperties>(properties: T) => Closed({ state: State, ...properties })
const AsOf = (what: string) => Nullable(Time(`${what}; null: never yet`))
const Units = Type.String({ description: 'Units of the asset, a plain decimal' })

const Server = Judged({
  as_of: Time(),
  version: Type.String(),
  process_id: Integer('Which process answered'),
  process: Type.String({ description: 'Its host and process id' }),
  started_at: Time(),
  running: Type.Array(Type.String(), { description: 'Every server that gives signs of life: host and process id' }),
  ledger_ok: Type.Boolean({ description: 'The database takes what the ledger writes' }),
  configuration: Closed({
    file: Type.String(),
    fingerprint: Type.String({ description: 'Servers that show the same one sell the same' }),
    refused: Nullable(Type.String({ description: 'Why the file was not taken over when it was last read' })),
    drifted: Type.Array(Type.String(), { description: 'Versions of capabilities whose calls are refused' }),
  }),
})

const Treasury = Judged({
  as_of: AsOf('When the chain and the records were last compared'),
  asset: Type.String(),
  found: Type.Enum(['equal', 'drift', 'stale', 'not_compared'], {
    description: '`stale`: the last comparison is too old to say anything, whatever it found',
  }),
  detail: Type.String(),
  received: Units,
  credited: Units,
  not_credited: Units,
  drift: Type.String({ description: 'Received less what is recorded: must be 0' }),
})

const Margin = Closed({
  as_of: Time('Whole hours up to here are in it'),
  from: Time(),
  models: Type.Array(
    Closed({
      model: Type.String(),
      calls: Integer(),
      errors: Integer('Those of them that failed'),
      net_micro: Integer('Charged less what was given back'),
      cost_micro: Nullable(Micro('What the provider takes where its cost is configured; null where none is')),
      net_known_micro: Integer('The part of net_micro that stands against cost_micro'),
      margin_percent: Nullable(Type.Number({ description: 'Of net_known_micro; null where nothing is known' })),
      complete: Type.Boolean({ description: 'The cost was configured for the whole range' }),
    }),
  ),
})

const Provider = Judged({
  name: Type.String(),
  kind: Type.String(),
  last_attempt_at: AsOf('When this process last asked it'),
  last_outcome: Nullable(Type.String()),
  last_good_at: AsOf('When it last answered'),
  failures_in_a_row: Integer(),
  attempts: Integer('By this process, since its start'),
})

const Chain = Judged({
  as_of: AsOf('When it was last read'),
  chain_id: Integer(),
  blocks_behind: Integer(),
  head_at: AsOf("The time of the chain's newest block"),
  reader: Nullable(Type.String({ description: 'The process that reads it now; the others follow' })),
  stopped: Type.Boolean({ description: 'It waits for `farebox chain rewind`' }),
  detail: Type.String(),
})

const Job = Judged({
  name: Type.String(),
  as_of: AsOf('When its last round in this process ended'),
  every_seconds: Integer(),
})

const Holds = Judged({
  flag: Type.Enum(['usage_unknown', 'shortfall']),
  holds: Integer(),
  held_micro: Micro(),
  oldest_at: Time(),
})

/** Everything that an operator looks at first. A part that could not be read is null. */
export const OverviewView = Closed({
  as_of: Time(),
  server: Server,
  treasury: Nullable(Type.Array(Treasury)),
  margin: Nullable(Margin),
  providers: Closed({
    scope: Type.String({ description: 'Whose attempts these are' }),
    since: Time(),
    list: Type.Array(Provider),
  }),
  chains: Nullable(Type.Array(Chain)),
  x402: Nullable(Judged({ as_of: Time(), detail: Type.String() })),
  native: Nullable(Judged({ as_of: AsOf('When its chain was last read'), detail: Type.String() })),
  jobs: Type.Array(Job),
  holds: Nullable(Closed({ as_of: Time(), list: Type.Array(Holds) })),
  reviews: Nullable(
    Judged({
      as_of: Time(),
      orders: Integer(),
      transfers: Integer(),
      native: Integer(),
      x402: Integer(),
      oldest_at: Nullable(Time()),
    }),
  ),
  tasks: Nullable(
    Judged({ as_of: Time(), open: Integer(), being_worked_on: Integer(), overdue_since: Nullable(Time()) }),
  ),
  webhooks: Nullable(
    Judged({
      as_of: Time(),
      events: Integer('Events that no delivery was made for yet'),
      deliveries: Integer('Deliveries that are not ended'),
      due_since: Nullable(Time()),
      failing: Integer('Receivers whose last deliveries failed'),
      disabled: Integer('Receivers that were given up'),
    }),
  ),
  audit: Nullable(
    Judged({
      as_of: Time('Movements up to here were audited'),
      findings: Nullable(Integer('Differences that this process found: must be 0; null: it has not looked yet')),
    }),
  ),
})

const iso = (at: Date | null | undefined): string | null => at?.toISOString() ?? null

/** The overview in its wire form. */
export function overviewView(all: Overview, server: RunningServer): Of<typeof OverviewView> {
  const as_of = all.now.toISOString()
  const { reviews, tasks, webhooks, audit } = all
  return {
    as_of,
    server: serverView(all, server),
    treasury: treasuryViews(all),
    margin: all.margin
      ? {
          as_of: all.margin.to.toISOString(),
          from: all.margin.from.toISOString(),
          models: all.margin.models.slice(0, MODELS_SHOWN_MAX).map(marginView),
        }
      : null,
    providers: {
      scope: `this process, ${server.host}:${server.pid}`,
      since: server.startedAt.toISOString(),
      list: all.providers.map((provider) => ({
        state: provider.state,
        name: provider.name,
        kind: provider.kind,
        last_attempt_at: iso(provider.lastAttemptAt),
        last_outcome: provider.lastOutcome ?? null,
        last_good_at: iso(provider.lastGoodAt),
        failures_in_a_row: provider.failuresInARow,
        attempts: provider.attempts,
      })),
    },
    chains: all.chains?.map(chainView) ?? null,
    x402: all.x402 ? { as_of, ...all.x402 } : null,
    native: all.native ? { state: all.native.state, as_of: iso(all.native.readAt), detail: all.native.detail } : null,
    jobs: all.jobs.map(({ state, name, endedAt, everyMs }) => ({
      state,
      name,
      as_of: iso(endedAt),
      every_seconds: everyMs / 1000,
    })),
    holds: all.holds
      ? {
          as_of,
          list: all.holds.map(({ state, flag, holds, micro, oldest }) => ({
            state,
            flag,
            holds,
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
    audit: audit
      ? { state: audit.state, as_of: audit.auditedUntil.toISOString(), findings: audit.findings ?? null }
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

function treasuryViews({ treasury, coin }: Overview): Of<typeof Treasury>[] | null {
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
function coinView(coin: NonNullable<Overview['coin']>): Of<typeof Treasury> {
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

function chainView(chain: NonNullable<Overview['chains']>[number]): Of<typeof Chain> {
  const { state, lastReadAt, chainId, behind, headAt, reader, stopped, trouble } = chain
  return {
    state,
    as_of: iso(lastReadAt),
    chain_id: integer(chainId),
    blocks_behind: integer(behind),
    head_at: iso(headAt),
    reader: reader ?? null,
    stopped,
    detail: trouble ?? 'read',
  }
}
