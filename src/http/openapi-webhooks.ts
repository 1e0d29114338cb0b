/** A request that the service sends to an address that a client named. */
export interface WebhookDescription {
  readonly name: string
  readonly summary: string
  /** JSON Schema of its body. */
  readonly body: unknown
}

/** The `webhooks` member of the document; `component` makes plain JSON of a schema. */
export function webhookItems(
  described: readonly WebhookDescription[],
  component: (schema: unknown) => unknown,
): Record<string, unknown> {
  const parameters = Object.entries(webhookHeaders).map(([name, text]) => ({
    name,
    in: 'header',
    required: true,
    description: text,
    schema: { type: 'string' },
  }))
  return Object.fromEntries(
    described.map(({ name, summary, body }) => [
      name,
      {
        post: {
          operationId: `on${name.replaceAll(/(?:^|[._])(\w)/g, (_, first: string) => first.toUpperCase())}`,
          summary,
          tags: ['Webhooks'],
          'x-extension': true,
          security: [],
          parameters,
          requestBody: { required: true, content: { 'application/json': { schema: component(body) } } },
          responses: {
            '2XX': { description: 'Received. Anything else is sent again.' },
            410: { description: 'Nothing more is wanted: the endpoint is disabled.' },
          },
        },
      },
    ]),
  )
}

const webhookHeaders = {
  'webhook-id': 'Names the event: the same at every attempt and replay.',
  'webhook-timestamp': 'Unix seconds of this attempt.',
  'webhook-signature': 'Standard Webhooks: `v1,<base64>`, several divided by spaces while a secret is rotated.',
}
