import { type TSchema, Type } from 'typebox'

/** An event as the outbox has it. */
export interface OutboxEvent {
  readonly id: bigint
  readonly event: string
  readonly account_id: bigint
  readonly object_id: string
  readonly payload: unknown
  readonly created_at: Date
}

/** Members of an outbox payload by name. */
export type Members = Readonly<Record<string, unknown>>

interface EventType {
  readonly description: string
  /** What `data` holds: stable, so members are added to it and never taken away. */
  readonly data: TSchema
  /** Values of members that a writer may leave out. */
  readonly defaults?: (event: OutboxEvent) => Members
  /** Members whose form differs from writer to writer, in the documented one. */
  readonly forms?: (members: Members) => Members
  /** Every member is sent, not only those of the schema. */
  readonly open?: true
  /** Members that the account itself is sent, and an owner that hears of it is not. */
  readonly own?: readonly string[]
  /** Sent to one endpoint because somebody asked for it; nobody subscribes to it. */
  readonly unlisted?: true
}

const type = (row: EventType): EventType => row

const Id = (description: string) => Type.Integer({ minimum: 1, description })
const Micro = (description: string) => Type.Integer({ minimum: 0, description: `${description}, in microcredits` })
const Digits = (description: string) => Type.String({ pattern: '^[0-9]+$', description })
const Text = (description: string) => Type.String({ description })
const OrNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const Order = Type.Object({
  order_id: Text('The order, as GET /v1/payments/orders/{id} shows it'),
  account_id: Id('The account that the Credits are for'),
  status: Text('The status that the order has now'),
  asset_id: Text('What it is paid in'),
  tx_hash: Text('The transaction that paid; empty when there is none'),
  amount_micro: Digits('What was asked for, in millionths of the asset'),
  credit_micro: Digits('What it buys, in microcredits'),
  review_reason: OrNull(Text('Why a person has to look at it')),
})

const Payment = Type.Object({
  payment_id: Text('The payment'),
  rail: Type.Enum(['transfer', 'x402', 'axon'], { description: 'How it was paid' }),
  account_id: Id('The account that the Credits are for'),
  credit_micro: Digits('What it buys, in microcredits'),
  tx_hash: Text('The transaction that paid; empty when it is not known'),
  amount_micro: Type.Optional(Digits('What was paid, in millionths of the asset')),
  asset_id: Type.Optional(Text('What it was paid in')),
  review_reason: Type.Optional(OrNull(Text('Why a person has to look at it'))),
})

/** Ids of payments begin with their rail, but for transfers: `axon:12`, `8453:0x…:0`. */
const railOf = (paymentId: string): string => /^(x402|axon):/.exec(paymentId)?.[1] ?? 'transfer'

const payment: Pick<EventType, 'data' | 'defaults' | 'forms'> = {
  data: Payment,
  defaults: ({ object_id }) => ({ payment_id: object_id, rail: railOf(object_id), tx_hash: '' }),
  forms: ({ payment_id }) => ({ payment_id: String(payment_id) }),
}

/** Every type of event there is (decisions 6), with what its `data` holds. */
export const eventTypes = {
  'order.completed': type({ description: 'A wallet order was paid and its Credits were given.', data: Order }),
  'order.review_required': type({
    description: 'Something about the payment of a wallet order needs a person to decide.',
    data: Order,
  }),
  'payment.credited': type({
    description:
      'Credits were given for a payment without a wallet order: by x402, in the native token, or a transfer that the operator accepted.',
    ...payment,
  }),
  'payment.review_required': type({
    description: 'Something about a payment without a wallet order needs a person to decide.',
    ...payment,
  }),
  'balance.low': type({
    description: 'The balance of an account fell below its threshold.',
    data: Type.Object({
      account_id: Id('The account'),
      balance_micro: Micro('Its balance after the movement, what calls hold included'),
      threshold_micro: Micro('The threshold'),
    }),
    defaults: ({ account_id }) => ({ account_id: Number(account_id) }),
  }),
  'task.finished': type({
    description: 'A task reached its end: success, fail or canceled.',
    data: Type.Object(
      { task_id: Text('The task') },
      { description: 'The task as GET /v1/tasks/{task_id} showed it at that moment', additionalProperties: true },
    ),
    defaults: ({ object_id }) => ({ task_id: object_id }),
    open: true,
    // its links open what only the account that asked for it may read
    own: ['result'],
  }),
  'settlement.pending': type({
    description:
      'A call waits for a decision: it cost more than it held (pending_settlement: authorize it), or its usage is not known (usage_unknown: the operator resolves it). The account that called and those that pay hear of it.',
    data: Type.Object({
      request_id: Text('The request of the call'),
      call_id: Id('The call'),
      actor_account_id: Id('The account that made the call'),
      billing_state: Type.Enum(['pending_settlement', 'usage_unknown']),
      reserve_amount_micro: Micro('What the call holds'),
      actual_amount_micro: OrNull(Micro('What it cost; null while that is not known')),
      shortfall_micro: OrNull(Micro('What is missing')),
    }),
    defaults: ({ object_id }) => ({ request_id: object_id }),
  }),
  'refund.completed': type({
    description: 'Credits of a call that failed were given back.',
    data: Type.Object({
      refund_id: Id('The refund'),
      call_id: Id('The call'),
      account_id: Id('The account that made the call'),
      amount_micro: Micro('What was given back'),
      status: Text('completed'),
    }),
    defaults: () => ({ status: 'completed' }),
  }),
  'webhook.disabled': type({
    description:
      "One of the account's webhook endpoints was disabled: it answered 410, or failed for days. The other endpoints hear of it.",
    data: Type.Object({
      endpoint_id: Id('The endpoint'),
      url: Text('Where it was'),
      reason: Type.Enum(['gone', 'failing'], { description: 'gone: it answered 410; failing: no success for 5 days' }),
    }),
  }),
  'webhook.test': type({
    description: 'Sent to one endpoint by POST /v1/me/webhooks/{id}/test. It stands for nothing that happened.',
    data: Type.Object({ endpoint_id: Id('The endpoint'), message: Text('For people') }),
    unlisted: true,
  }),
} as const satisfies Record<string, EventType>

/** The name of a type of event. */
export type EventName = keyof typeof eventTypes

/** Every type that an endpoint can ask for. */
export const subscribable: readonly EventName[] = (Object.keys(eventTypes) as EventName[]).filter(
  (name) => !('unlisted' in eventTypes[name]),
)

/** The type's row; undefined for a name that is none. */
export function eventType(name: string): EventType | undefined {
  return Object.hasOwn(eventTypes, name) ? eventTypes[name as EventName] : undefined
}
