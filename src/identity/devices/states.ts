import type { DeviceLoginStatus } from '../../db/schema.ts'
import { catalogue, type ErrorCode } from '../../kernel/errors.ts'

/** What can happen to a login of a program: its owner looks and decides, the program asks in time or too soon. */
export type Event = 'look' | 'approve' | 'deny' | 'poll' | 'poll_too_soon'

/** A status, or that the time for it is over, whatever it was. */
export type Standing = DeviceLoginStatus | 'lapsed'

/** What an event does to a standing: the status after it (the same one when nothing moves), or the refusal. */
export type Step = DeviceLoginStatus | ErrorCode

type Row = Readonly<Record<Standing, Step>>
const on = (pending: Step, approved: Step, denied: Step, completed: Step, lapsed: Step): Row => ({
  pending,
  approved,
  denied,
  completed,
  lapsed,
})

/**
 * Every move of a login (RFC 8628). No cell is undecided. A login belongs to who decided it first: to any other
 * owner it is not there. A decision may be repeated, and an approval taken back until the program has its tokens.
 */
// biome-ignore format: a table is read by its columns.
const table: Readonly<Record<Event, Row>> = {
  //                pending                  approved     denied                  completed               lapsed
  look:          on('pending',               'approved',  'denied',               'completed',            'device_login_not_found'),
  approve:       on('approved',              'approved',  'device_login_decided', 'completed',            'device_login_not_found'),
  deny:          on('denied',                'denied',    'denied',               'device_login_decided', 'device_login_not_found'),
  // tokens are given once: a second program with the same code is told nothing more
  poll:          on('authorization_pending', 'completed', 'access_denied',        'expired_token',        'expired_token'),
  poll_too_soon: on('slow_down',             'completed', 'access_denied',        'expired_token',        'expired_token'),
}

/** What the event does to a login that stands like this. */
export const stepOf = (event: Event, standing: Standing): Step => table[event][standing]

/** Whether a step is a refusal. */
export const isRefusal = (step: Step): step is ErrorCode => Object.hasOwn(catalogue, step)

/** The statuses that the event moves to this one: what its update is conditional on. */
export function movedFrom(event: Event, to: DeviceLoginStatus): DeviceLoginStatus[] {
  const rows = Object.entries(table[event]) as Array<[Standing, Step]>
  return rows.flatMap(([from, step]) => (step === to && from !== to && from !== 'lapsed' ? [from] : []))
}
