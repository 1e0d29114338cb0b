import type { Authenticator } from '../kernel/caller.ts'
import { KEY_PREFIX } from './keys/secret.ts'

/** An authenticator that also notes when its credentials were last used, whenever `flushUsed` is called. */
type NotingAuthenticator = Authenticator & { flushUsed(): Promise<void> }

/** Checks every Bearer credential: API keys by their prefix, everything else as an access token. */
export function createAuthenticator({
  keys,
  sessions,
}: {
  keys: NotingAuthenticator
  sessions: NotingAuthenticator
}): NotingAuthenticator {
  const of = (token: string): Authenticator => (token.startsWith(KEY_PREFIX) ? keys : sessions)
  return {
    authenticate: (token) => of(token).authenticate(token),
    recognise: (token) => of(token).recognise(token),
    async flushUsed() {
      await keys.flushUsed()
      await sessions.flushUsed()
    },
  }
}
