import { session } from '../session/session.ts'
import { ApiError } from './error.ts'
import { type ApiCall, send } from './transport.ts'

/**
 * Calls the API; a dead access token is renewed once. Throws ApiError: with status 401 when the session is over,
 * which also shows the sign-in page, and with 403 where the account is shut out, which shows that in place of every page.
 */
export async function api<T>(path: string, call: ApiCall = {}): Promise<T> {
  const token = await session.accessToken()
  try {
    return await send<T>(path, call, token)
  } catch (error) {
    session.heed(error)
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    return send<T>(path, call, await session.renewed(token))
  }
}
