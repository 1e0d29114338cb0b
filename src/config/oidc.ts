import type { RawEnvironment } from './environment.ts'
import type { CheckedFile } from './file.ts'
import { isLoopback, isPlainHttp } from './parsers.ts'
import type { Problem } from './problem.ts'
import { namedSecret } from './providers.ts'
import type { ReadFile } from './read-file.ts'

/** How owners sign in. */
export interface OidcConfig {
  /** By name; without prototype. */
  readonly providers: Readonly<Record<string, IdentityProviderConfig>>
  /** True: nobody new registers without an invitation code. */
  readonly requireInvitation: boolean
  /** Without a trailing slash; undefined: `/console` of the public address. */
  readonly consoleUrl: string | undefined
  /** An e-mail or https address; empty: people are told to ask the operator. */
  readonly supportContact: string
}

/** An OpenID Connect provider. Its client secret is in Secrets.oidcClientSecrets. */
export interface IdentityProviderConfig {
  /** https; http only on loopback in development. */
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** What people read. */
  readonly label: string
}

/** The name that the provider of the development economy takes; no other may have it. */
export const DEVELOPMENT_PROVIDER = 'dev'

/** The identity providers of the file, their client secrets from the environment, and what is wrong with them. */
export function readOidc({
  file,
  raw,
  readFile,
  development,
}: {
  file: CheckedFile
  raw: RawEnvironment
  readFile: ReadFile
  /** In development, http is allowed on loopback. */
  development: boolean
}): {
  oidc: OidcConfig
  clientSecrets: Readonly<Record<string, string>>
  problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const { oidc } = file.content
  const providers: Record<string, IdentityProviderConfig> = Object.create(null)
  const clientSecrets: Record<string, string> = Object.create(null)
  for (const [name, provider] of Object.entries(oidc.providers)) {
    const refuse = (key: string, problem: string, fix: string) =>
      problems.push({
        where: file.place(provider, key),
        problem: `Identity provider \`${name}\`: ${problem}`,
        fix,
      })
    const refused = addressRefused(provider.issuer, development)
    if (refused) refuse('issuer', ...refused)
    if (name === DEVELOPMENT_PROVIDER)
      refuse('issuer', 'the name is taken by the provider of `npm start`.', 'Take another name.')
    if (!provider.scopes.includes('openid'))
      refuse('scopes', '`openid` is missing, without which nobody is identified.', 'Add it.')
    providers[name] = {
      issuer: provider.issuer,
      clientId: provider.client_id,
      scopes: provider.scopes,
      label: provider.label ?? name,
    }
    const variable = provider.client_secret_env
    if (variable === undefined) continue
    const secret = namedSecret({ variable, raw, readFile }, (problem, fix) => refuse('client_secret_env', problem, fix))
    if (secret !== undefined) clientSecrets[name] = secret
  }
  const consoleUrl = oidc.console_url?.replace(/\/+$/, '')
  const consoleRefused = consoleUrl === undefined ? undefined : addressRefused(consoleUrl, development)
  if (consoleRefused) {
    const [problem, fix] = consoleRefused
    problems.push({ where: file.place(oidc, 'console_url'), problem: `Console: ${problem}`, fix })
  }
  return {
    oidc: {
      providers,
      requireInvitation: oidc.require_invitation,
      consoleUrl,
      supportContact: oidc.support_contact ?? '',
    },
    clientSecrets,
    problems,
  }
}

/** Why a sign-in may not go through this address: in the clear, anybody on the way could sign in as anybody. */
function addressRefused(address: string, development: boolean): [problem: string, fix: string] | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !isPlainHttp(url)) return ['this is no address.', 'Write it like `https://id.example.com`.']
  if (url.protocol === 'https:' || (development && isLoopback(url.hostname))) return undefined
  return ['it is not https.', 'Use its https:// address; http is for loopback in development.']
}
