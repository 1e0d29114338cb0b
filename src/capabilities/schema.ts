import { Type } from 'typebox'
import { Integer, Micro, Nullable } from '../http/fields.ts'

const Strings = Type.Array(Type.String())
const Open = (description: string) => Type.Object({}, { additionalProperties: true, description })

const supports = {
  supports_sync: Type.Boolean(),
  supports_async: Type.Boolean(),
  supports_polling: Type.Boolean(),
  supports_webhook: Type.Boolean(),
}

const Pricing = Type.Object(
  {
    billing_kind: Type.Literal('credit'),
    mode: Type.Enum(['fixed', 'per_unit']),
    unit: Type.String(),
    unit_price_micro: Micro('Microcredits for one unit'),
    unit_price_micro_usdc: Micro('The same number, for existing clients'),
    currency: Type.String(),
    units_from: Type.Optional(Type.Enum(['input', 'output'])),
    units_at: Type.Optional(Type.String({ description: 'JSON pointer to what is counted' })),
    units_max: Type.Optional(Type.Integer()),
    max_hold_micro: Micro('The most that is held for a call'),
  },
  { $id: 'CapabilityPricing' },
)

const Availability = Type.Object({
  invoke_allowed: Type.Boolean(),
  reason: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
})

const InputField = Type.Object({
  name: Type.String(),
  required: Type.Boolean(),
  type: Type.Optional(Type.Unknown()),
  description: Type.Optional(Type.String()),
  enum: Type.Optional(Type.Array(Type.Unknown())),
  default: Type.Optional(Type.Unknown()),
})

const Operation = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  method: Type.String({ description: 'The one method that it takes' }),
  path: Type.String(),
  summary: Type.String(),
  read_only: Type.Boolean(),
  flow_step: Type.Optional(Type.Integer()),
  pricing: Pricing,
  input_fields: Type.Array(InputField),
  output_highlights: Strings,
  trust_signals: Strings,
  default_invoke_mode: Type.Enum(['sync', 'async']),
  idempotency_key_required: Type.Boolean(),
  ...supports,
  task_path_template: Type.Optional(Type.String()),
  availability: Availability,
  input_schema: Open('JSON Schema 2020-12'),
  output_schema: Open('JSON Schema 2020-12'),
})

/** A capability in one of its versions (spec 2.13). */
export const Descriptor = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    category: Type.String(),
    short_description: Type.String(),
    provider_name: Type.String(),
    type: Type.String(),
    status: Type.String(),
    visibility: Type.String(),
    version: Type.String({ description: 'The version that is described' }),
    default_version: Type.String(),
    versions: Strings,
    tags: Strings,
    ...supports,
    default_invoke_mode: Type.Enum(['sync', 'async']),
    funding_modes: Strings,
    invoke_path: Type.String(),
    task_path_template: Type.Optional(Type.String()),
    pricing: Type.Optional(Pricing),
    input_fields: Type.Array(InputField, { description: 'Of the default operation' }),
    output_highlights: Strings,
    trust_signals: Strings,
    agent_doc_what: Type.String(),
    agent_doc_how: Type.String(),
    default_operation_slug: Type.String(),
    operations: Type.Array(Operation),
    availability: Availability,
  },
  { $id: 'Capability' },
)

const Account = Type.Object({ account_id: Integer() })

/** What a call of an operation is answered. */
export const CapabilityAnswer = Type.Object(
  {
    request_id: Type.String(),
    capability: Type.String(),
    capability_version: Type.String(),
    operation: Type.String(),
    mode: Type.Enum(['sync', 'async']),
    data: Type.Unknown({
      description: 'As the output_schema of the operation says; of an asynchronous call, the task',
    }),
    billing: Type.Object({
      status: Type.Enum(['reserved', 'committed', 'released', 'usage_unknown', 'pending_settlement']),
      actor: Account,
      payer: Account,
      owner: Type.Optional(Account),
      reserve_amount_micro: Micro(),
      actual_amount_micro: Nullable(Micro('What was charged; null while it is not known')),
      call_id: Type.Optional(Integer('Absent for a free call')),
      funding: Type.Array(
        Type.Object({
          account_id: Integer(),
          reserved_amount_micro: Micro(),
          amount_micro: Nullable(Micro()),
        }),
      ),
    }),
  },
  { $id: 'CapabilityAnswer' },
)

/** The input of an operation, or `{mode, input, webhook_url}`. */
export const OperationInput = Type.Object(
  {},
  {
    additionalProperties: true,
    description: "The operation's input itself, as its input_schema says, or `{mode, input, webhook_url}`.",
  },
)

/** The query of every capability path; the input of GET and DELETE operations stands beside it. */
export const VersionQuery = Type.Object({
  version: Type.Optional(
    Type.String({ minLength: 1, maxLength: 32, description: 'A frozen version; the default one when left out' }),
  ),
})
