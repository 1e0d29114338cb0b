/** What ties a sign-in to the browser that began it. */

const COOKIE = /(?:^|;\s*)(farebox_login_[\w-]{8})=([\w-]{43})(?=;|$)/g
/** Visits that a browser may have open; beginning another forgets the first. */
const OPEN_MAX = 8

/** Where the cookies of sign-ins are sent, and whether only over TLS. */
export interface CookieScope {
  /** Without a trailing slash. */
  readonly publicUrl: string
  readonly lifetimeSeconds: number
}

/** Whether this browser holds the cookie of the visit with this hashed state. */
export function holdsCookie(cookies: string | undefined, stateHash: Buffer): boolean {
  const value = stateHash.toString('base64url')
  // the hash of a secret is compared, so the time that this takes tells nothing
  return cookiesOf(cookies).some((cookie) => cookie.name === nameFor(value) && cookie.value === value)
}

/** Set-Cookie of a new visit. Each visit has a cookie of its own, so that tabs do not disturb each other. */
export function cookiesFor(cookies: string | undefined, stateHash: Buffer, scope: CookieScope): string[] {
  const value = stateHash.toString('base64url')
  const surplus = cookiesOf(cookies).slice(0, -(OPEN_MAX - 1))
  return [
    cookie({ name: nameFor(value), value, maxAge: scope.lifetimeSeconds }, scope),
    ...surplus.map(({ name }) => cookie({ name, value: '', maxAge: 0 }, scope)),
  ]
}

/** Set-Cookie that forgets a visit. */
export function cookieCleared(stateHash: Buffer, scope: CookieScope): string {
  return cookie({ name: nameFor(stateHash.toString('base64url')), value: '', maxAge: 0 }, scope)
}

/**
 * A path of this server to return to after a sign-in, as it was given; undefined for anything that a browser would
 * take for an address elsewhere: `//host`, `/\host`, a scheme, control characters.
 */
export function ownPath(path: string, publicUrl: string): string | undefined {
  if (!/^\/(?![/\\])[^\\\p{Cc}\s]*$/u.test(path)) return undefined
  const base = new URL(publicUrl)
  return URL.canParse(path, base) && new URL(path, base).origin === base.origin ? path : undefined
}

function cookiesOf(header: string | undefined): Array<{ name: string; value: string }> {
  return [...(header ?? '').matchAll(COOKIE)].map(([, name = '', value = '']) => ({ name, value }))
}

const nameFor = (value: string): string => `farebox_login_${value.slice(0, 8)}`

function cookie(
  { name, value, maxAge }: { name: string; value: string; maxAge: number },
  { publicUrl }: CookieScope,
): string {
  const { protocol, pathname } = new URL(publicUrl)
  const path = `${pathname.replace(/\/+$/, '')}/v1/auth/oidc`
  // Lax, not Strict: the browser comes back from another site
  return `${name}=${value}; Max-Age=${maxAge}; Path=${path}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
}
