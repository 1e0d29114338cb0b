import { compileSchema } from '../config/json-schema.ts'
import type { JsonObject } from '../providers/provider.ts'
import { queryOf, resultOf, type Send, type Tool } from './tool.ts'

const MICRO = {
  type: 'string',
  pattern: '^[1-9][0-9]{0,15}$',
  description: 'In digits: micro units of the stablecoin, 1000000 for one.',
}

/** The tools that are not capabilities: what is there to spend and to call, and how to pay. `publicUrl` is ours. */
export function accountTools(publicUrl: () => string): Tool[] {
  return [
    tool({
      name: 'get_balance',
      title: 'Balance',
      description: 'How many microcredits can be spent (1 Credit = 1000000), and how many are held by running calls.',
      properties: {},
      annotations: READING,
      call: (_input, send) => passOn(send, 'GET', '/v1/credits/balance'),
    }),
    tool({
      name: 'list_models',
      title: 'Models',
      description: 'The AI models of POST /v1/chat/completions, with their prices.',
      properties: {},
      annotations: READING,
      call: (_input, send) => passOn(send, 'GET', '/v1/models'),
    }),
    tool({
      name: 'get_task',
      title: 'Task',
      description: 'How a task stands that an asynchronous tool gave, with its result once it is done.',
      properties: {
        task_id: { type: 'string', minLength: 1, maxLength: 100 },
        wait: { type: 'integer', minimum: 0, maximum: 30, description: 'Seconds to wait for the end.' },
      },
      required: ['task_id'],
      annotations: READING,
      call: ({ task_id: id, wait }, send) =>
        passOn(send, 'GET', `/v1/tasks/${encodeURIComponent(String(id))}${queryOf({ wait })}`),
    }),
    tool({
      name: 'create_topup',
      title: 'Top up',
      description:
        'Everything that a payer needs to buy Credits: a page for a person, an x402 address for a program with a wallet, and the accepted assets for an order. It sends no money.',
      properties: { amount_micro: MICRO },
      required: ['amount_micro'],
      annotations: { ...READING, readOnlyHint: false },
      call: (input, send) => createTopup(publicUrl(), String(input.amount_micro), send),
    }),
    tool({
      name: 'create_order',
      title: 'Order Credits',
      description:
        'An order to pay by a plain stablecoin transfer from the wallet of this account. Needs an access token; it sends no money.',
      properties: {
        asset_id: { type: 'string', maxLength: 64, description: 'One of the assets of create_topup.' },
        amount_micro: MICRO,
        idempotency_key: { type: 'string', minLength: 1, maxLength: 128, description: 'A fresh UUID for each order.' },
      },
      required: ['asset_id', 'amount_micro', 'idempotency_key'],
      annotations: { ...READING, readOnlyHint: false },
      call: (input, send) => passOn(send, 'POST', '/v1/payments/orders', input),
    }),
    tool({
      name: 'get_order',
      title: 'Order',
      description: 'How an order stands: whether its payment was seen, and whether its Credits were given.',
      properties: { order_id: { type: 'string', format: 'uuid' } },
      required: ['order_id'],
      annotations: READING,
      call: ({ order_id: id }, send) => passOn(send, 'GET', `/v1/payments/orders/${encodeURIComponent(String(id))}`),
    }),
  ]
}

const READING = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

interface Declared {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly properties: JsonObject
  readonly required?: string[]
  readonly annotations: typeof READING
  readonly call: Tool['call']
}

/** A tool whose input is checked here, since it becomes a path. */
function tool({ call, properties, required = [], ...described }: Declared): Tool {
  const inputSchema = { type: 'object', properties, required, additionalProperties: false } as const
  const compiled = compileSchema(inputSchema, 'exact')
  return {
    description: { ...described, inputSchema: inputSchema as Tool['description']['inputSchema'] },
    call: async (input, send) => {
      const misfit = 'misfit' in compiled ? compiled.misfit(input) : undefined
      if (misfit === undefined) return call(input, send)
      const message = `The arguments do not fit: ${misfit.pointer || 'they'} ${misfit.message}.`
      return resultOf({ status: 400, body: { code: 'invalid_field', message, pointer: misfit.pointer } })
    },
  }
}

async function passOn(send: Send, method: 'GET' | 'POST', path: string, body?: JsonObject) {
  return resultOf(await send({ method, path, ...(body === undefined ? {} : { body }) }))
}

async function createTopup(publicUrl: string, amountMicro: string, send: Send) {
  const [options, context] = await Promise.all([
    send({ method: 'GET', path: '/v1/payments/options' }),
    send({ method: 'POST', path: '/v1/payments/context', body: { amount_micro: amountMicro } }),
  ])
  if (options.status >= 400) return resultOf(options)
  // an API key may not make a context: then whoever opens the page says who is credited
  const bound = context.status < 400 ? (context.body.data as JsonObject) : undefined
  if (bound === undefined && context.body.code !== 'access_token_required') return resultOf(context)
  const { assets } = options.body.data as JsonObject
  return resultOf({
    status: 200,
    body: {
      amount_micro: amountMicro,
      topup_url: bound?.topup_url ?? `${publicUrl}/topup`,
      ...(bound === undefined
        ? {}
        : { recipient: bound.recipient, payment_context_token: bound.payment_context_token }),
      x402: {
        url: `${publicUrl}/v1/payments/topup${queryOf({ amount_micro: amountMicro })}`,
        method: 'GET',
        how: 'Ask it with an x402 client: the account of the paying wallet is credited.',
      },
      assets,
    },
  })
}
