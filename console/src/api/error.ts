/** A refusal of the server, or a request that never reached it (`status` 0, code `offline`). */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string
  /** The whole flat body, for refusals that carry numbers. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(typeof body.message === 'string' ? body.message : 'The server could not be reached.')
    this.status = status
    this.code = typeof body.code === 'string' ? body.code : 'offline'
    this.requestId = typeof body.request_id === 'string' ? body.request_id : ''
    this.fields = body
  }
}
