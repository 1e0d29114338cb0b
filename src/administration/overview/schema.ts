import { type TProperties, Type } from 'typebox'
import { Closed, Integer, Micro, Nullable, Time } from '../../http/fields.ts'

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
  network_name: Type.String(),
  read_by: Type.Enum(['this_process', 'another_process', 'nobody'], { description: 'Who reads it now; others follow' }),
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
