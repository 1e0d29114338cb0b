import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Config, Secrets } from '../config/config.ts'
import { DEVELOPMENT_PROVIDER } from '../config/oidc.ts'
import { openDatabase } from '../db/database.ts'
import { changeRole, linkIdentity } from '../identity/owners/operations.ts'
import type { DevelopmentFile } from './economy.ts'
import { type Person, startIdentityProvider } from './identity-provider.ts'

/** The subject of the owner of the economy. */
const OWNER_SUBJECT = 'owner'
/** Somebody who has no account until they sign in. */
const NEWCOMER: Person = { subject: 'newcomer', email: 'newcomer@example.com' }

/** The identity provider of the economy, and the server's settings with it. */
export interface RunningIdentity {
  readonly settings: { readonly config: Config; readonly secrets: Secrets }
  readonly oidc: DevelopmentFile['oidc']
  stop(): Promise<void>
}

/**
 * Starts the identity provider on the port after the server's (any free one when that is taken, or the server's
 * own port is any), and makes its first person the owner of the economy, an admin.
 */
export async function startIdentity(
  around: ProgramSurroundings,
  {
    config,
    secrets,
    databaseUrl,
    owner,
  }: { config: Config; secrets: Secrets; databaseUrl: string; owner: DevelopmentFile['owner'] },
): Promise<RunningIdentity> {
  const people = [{ subject: OWNER_SUBJECT, email: owner.email }, NEWCOMER]
  const wantedPort = config.port === 0 || config.port === 65_535 ? 0 : config.port + 1
  const provider = await startIdentityProvider({
    random: around.random,
    people,
    port: wantedPort === config.metricsPort ? 0 : wantedPort,
    isCallback: (uri) => isOurCallback(uri, config.publicUrl),
  })
  await introduceOwner(databaseUrl, provider.issuer, BigInt(owner.account_id))
  const settings = {
    issuer: provider.issuer,
    clientId: provider.clientId,
    scopes: ['openid', 'email'],
    label: 'Development',
  }
  return {
    settings: {
      config: {
        ...config,
        oidc: {
          ...config.oidc,
          providers: { ...config.oidc.providers, [DEVELOPMENT_PROVIDER]: settings },
        },
      },
      secrets: {
        ...secrets,
        oidcClientSecrets: {
          ...secrets.oidcClientSecrets,
          [DEVELOPMENT_PROVIDER]: provider.clientSecret,
        },
      },
    },
    oidc: {
      issuer: provider.issuer,
      provider: DEVELOPMENT_PROVIDER,
      people: people.map(({ email }) => ({ email, login_hint: email })),
    },
    stop: provider.stop,
  }
}

/** The issuer has the port in its name, so another port is another identity of the same owner. */
async function introduceOwner(databaseUrl: string, issuer: string, ownerId: bigint): Promise<void> {
  const { db, pool } = openDatabase({
    url: databaseUrl,
    connections: 1,
    statementTimeoutMs: 10_000,
    onIdleError: () => undefined,
  })
  try {
    await db.transaction().execute(async (tx) => {
      const isNew = await linkIdentity(tx, {
        issuer,
        subject: OWNER_SUBJECT,
        accountId: ownerId,
      })
      // once only: an operator who takes the role away has a reason
      if (!isNew) return
      const actor = { kind: 'system', name: 'development' } as const
      const reason = 'owner of the development economy'
      await changeRole(tx, { accountId: ownerId, role: 'admin' }, { actor, reason })
    })
  } finally {
    await pool.end()
  }
}

/** Codes go to this server alone, at whichever address of this machine it is reached. */
function isOurCallback(uri: string, publicUrl: string | undefined): boolean {
  const path = `/v1/auth/oidc/${DEVELOPMENT_PROVIDER}/callback`
  if (publicUrl !== undefined && uri === `${publicUrl}${path}`) return true
  const { protocol, hostname, pathname, search } = new URL(uri)
  const here = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
  return protocol === 'http:' && here && pathname === path && search === ''
}
