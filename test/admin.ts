import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { JsonObject } from '../src/providers/provider.ts'
import { type Answer, startTestApp, type TestApp } from './app.ts'
import type { TestAppOptions } from './app-configuration.ts'

/** Somebody who signed in, with their access token. */
export interface SignedIn {
  readonly accountId: bigint
  readonly token: string
}

/** A whole server with an admin and an ordinary user signed in. */
export interface AdminSetting {
  readonly test: TestApp
  readonly admin: SignedIn
  /** A second admin, for what takes two. */
  readonly otherAdmin: SignedIn
  readonly user: SignedIn
  /** Asks as the admin, or as whoever is named. */
  get(path: string, as?: SignedIn): Promise<Answer>
  post(path: string, body: JsonObject, as?: SignedIn, headers?: Record<string, string>): Promise<Answer>
  /** What others did to whatever has this id, oldest first; of one kind only, where one is named. */
  auditLog(
    targetId: bigint | string,
    targetKind?: string,
  ): Promise<Array<{ actor_kind: string; actor: string; action: string; target_id: string; reason: string | null }>>
}

/** Signs an Agent in by a fresh wallet. */
export async function signInByWallet(test: TestApp): Promise<SignedIn> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const asked = await test.post('/v1/auth/challenge', { wallet_address: wallet.address })
  const { json } = await test.post('/v1/auth/verify', {
    challenge_id: asked.json.challenge_id,
    signature: await wallet.signMessage({ message: String(asked.json.message) }),
  })
  const { account, tokens } = json as { account: { id: number }; tokens: { access_token: string } }
  return { accountId: BigInt(account.id), token: tokens.access_token }
}

/** Starts a server for tests of /v1/admin. Call it in beforeAll and `test.stop` in afterAll. */
export async function startAdminSetting(options: TestAppOptions = {}): Promise<AdminSetting> {
  const test = await startTestApp(options)
  const [admin, otherAdmin, user] = [await signInByWallet(test), await signInByWallet(test), await signInByWallet(test)]
  // roles belong to owners; what is tested here asks for the role alone
  await test.database.sql(`update accounts set role = 'admin' where id in ($1, $2)`, [
    admin.accountId,
    otherAdmin.accountId,
  ])
  return {
    test,
    admin,
    otherAdmin,
    user,
    async get(path, as = admin) {
      const response = await fetch(`${test.url}${path}`, { headers: { authorization: `Bearer ${as.token}` } })
      const text = await response.text()
      return {
        status: response.status,
        phrase: response.statusText,
        headers: response.headers,
        text,
        json: JSON.parse(text),
      }
    },
    post: (path, body, as = admin, headers = {}) => test.post(path, body, as.token, headers),
    auditLog: (targetId, targetKind) =>
      test.database.sql(
        `select actor_kind, actor, action, target_id, reason from audit_log
         where target_id = $1 and target_kind = coalesce($2, target_kind) and not (target_kind = 'account' and actor = $1)
         order by id`,
        [String(targetId), targetKind ?? null],
      ),
  }
}
