import { Type } from 'typebox'
import { ENVIRONMENT_NAME, Keys, NAME_PATTERN } from './schema-fields.ts'

const IdentityProvider = Keys(
  {
    issuer: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description:
        'Its issuer, exactly as the provider states it; everything else is discovered from there. https://, except on loopback in development.',
    }),
    client_id: Type.String({
      pattern: '^[!-~]{1,256}$',
      description: 'The client id that the provider gave you.',
    }),
    client_secret_env: Type.Optional(
      Type.String({
        pattern: ENVIRONMENT_NAME,
        description:
          'The name of the environment variable that holds the client secret, never the secret itself. `<NAME>_FILE` works too. Absent: a public client, with PKCE alone.',
      }),
    ),
    scopes: Type.Array(Type.String({ pattern: '^[!#-\\[\\]-~]{1,128}$' }), {
      minItems: 1,
      maxItems: 16,
      default: ['openid', 'email'],
      description: 'What is asked of the provider; `openid` must be among them.',
    }),
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'What the sign-in button says. Absent: the name.',
      }),
    ),
  },
  { description: 'An OpenID Connect provider.' },
)

/** How owners sign in. */
export const Oidc = Keys(
  {
    providers: Type.Record(Type.String({ pattern: NAME_PATTERN }), IdentityProvider, {
      additionalProperties: false,
      default: {},
      description:
        'Who vouches for owners, by a name of your choice. At the provider, allow the redirect `<public address>/v1/auth/oidc/<name>/callback`.',
    }),
    require_invitation: Type.Boolean({
      default: false,
      description:
        'Whether a new owner needs an invitation code (`farebox owner invite`). Those who have an account never do.',
    }),
    console_url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s?#@]+$',
        maxLength: 2048,
        description: 'Where the console is, to which a sign-in returns. Absent: `/console` of the public address.',
      }),
    ),
    support_contact: Type.Optional(
      Type.String({
        pattern: '^(https://[^\\s<>"]+|[^\\s@<>"]+@[^\\s@<>"]+)$',
        maxLength: 320,
        description:
          'Where people turn for help: an e-mail address or an https:// address. The console shows it to everybody, also to whoever is banned.',
      }),
    ),
  },
  { default: {}, description: 'How owners sign in: by OpenID Connect.' },
)
