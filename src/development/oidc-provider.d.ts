/** The part of oidc-provider that we use; the package brings no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  /** An authorization request as policies see it. */
  interface Context {
    readonly oidc: {
      readonly params: Readonly<Record<string, unknown>>
      readonly result?: { readonly login?: unknown }
      readonly session: {
        readonly accountId?: string
        /** The grant that this session gave to a client. */
        grantIdFor(clientId: string): string | undefined
        loginAccount(details: { accountId: string }): void
      }
      readonly client: { readonly clientId: string }
      readonly provider: Provider
    }
  }

  class Grant {
    static find(id: string): Promise<Grant | undefined>
    readonly accountId: string
    constructor(of: { accountId: string; clientId: string })
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  class Provider {
    constructor(issuer: string, configuration: object)
    readonly Client: { prototype: { redirectUriAllowed(uri: string): boolean } }
    readonly Grant: typeof Grant
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ readonly uid: string }>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { login: { accountId: string } } | { error: string; error_description: string },
      options: { mergeWithLastSubmission: boolean },
    ): Promise<void>
  }

  class Check {
    constructor(reason: string, description: string, error: string, check: (context: Context) => boolean)
  }

  class Prompt {
    constructor(prompt: { name: string; requestable: boolean }, ...checks: Check[])
  }

  const interactionPolicy: { readonly Check: typeof Check; readonly Prompt: typeof Prompt }
}
