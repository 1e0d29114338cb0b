import type { Reply } from '../../api/types.ts'

/** What the list of endpoints is remembered by. */
export const ENDPOINTS = '/v1/me/webhooks'
/** What the log of deliveries is remembered by. */
export const DELIVERIES = '/v1/me/webhooks/deliveries'

/** An endpoint of this account. */
export type Endpoint = Reply<'/v1/me/webhooks', 'get'>['data'][number]
