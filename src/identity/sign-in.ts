import { type Static, Type } from 'typebox'
import type { Database, Tx } from '../db/database.ts'
import { assert } from '../kernel/assert.ts'
import { find } from './accounts/store.ts'
import { Account, accountView } from './accounts/view.ts'
import { tokenKinds } from './tokens/kinds.ts'

/** A session as its tokens speak of it, right after it was begun or moved on. Times are the database's. */
export interface LiveSession {
  readonly sid: string
  readonly accountId: bigint
  readonly generation: number
  readonly now: Date
  readonly expiresAt: Date
}

/** Begins sessions for whoever proved who they are: by wallet, or by an identity provider. */
export interface SessionOpener {
  /** Begins a session inside the transaction of the proof. `device` is what people recognise it by: the User-Agent. */
  start(tx: Tx, who: { accountId: bigint; device: string | undefined }): Promise<LiveSession>
  /** Signs its tokens: after the commit, since signing may have to read keys and must not do so while holding a connection. */
  issue(session: LiveSession): Promise<TokenPair>
}

/** The tokens of one generation of a session. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Makes the first key that an account ever has; undefined when it has or had one. Shown to its holder once, by the sign-in that made it. */
export type FirstKey = (tx: Tx, accountId: bigint) => Promise<string | undefined>

/** What a sign-in and a refresh answer (spec 2.1). */
export const SignedIn = Type.Object(
  {
    account: Account,
    tokens: Type.Object(
      {
        access_token: Type.String({ description: 'Send it as Authorization: Bearer' }),
        refresh_token: Type.String({
          description:
            'Exchange it once for new tokens: POST /v1/auth/refresh. "" for a page that sent x-farebox-session: cookie, whose browser keeps it',
        }),
        api_key: Type.String({
          description: 'The account\'s first API key, in the one answer that made it; else ""',
        }),
        expires_in: Type.Integer({ description: 'Seconds that the access token lives' }),
        token_type: Type.Literal('Bearer'),
      },
      { additionalProperties: false },
    ),
    request_id: Type.String(),
  },
  { additionalProperties: false },
)

/** The answer of a sign-in or refresh of this account. `keep` may put the refresh token elsewhere and gives what the body shows. */
export async function signedIn(
  db: Database,
  answer: { accountId: bigint; pair: TokenPair; apiKey: string | undefined; requestId: string },
  keep: (refreshToken: string) => string,
): Promise<Static<typeof SignedIn>> {
  const account = await find(db, answer.accountId)
  assert(account, `account ${answer.accountId} has a session and no row`)
  return {
    account: accountView(account),
    tokens: {
      access_token: answer.pair.accessToken,
      refresh_token: keep(answer.pair.refreshToken),
      api_key: answer.apiKey ?? '',
      expires_in: tokenKinds.access.lifetimeSeconds,
      token_type: 'Bearer',
    },
    request_id: answer.requestId,
  }
}
