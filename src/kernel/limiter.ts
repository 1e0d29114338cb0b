/** How many requests one key may make in a window. */
export interface Quota {
  /** Names the limit in headers and messages: lower-case words joined by dashes. */
  readonly name: string
  readonly requests: number
  readonly windowMs: number
}

/** What a limiter knows of a key after it was asked. */
export interface Standing {
  readonly allowed: boolean
  /** Requests left in this window, as far as this process knows. */
  readonly remaining: number
  /** Milliseconds until the next window. */
  readonly resetMs: number
}

/**
 * Counts requests against quotas, shared by all processes on one database: together they never allow more than
 * the quota in a window. Implemented by limits, used by the HTTP floor.
 */
export interface Limiter {
  /** Takes one request of `key`. undefined: the count cannot be known now, because the database is away. */
  take(quota: Quota, key: string): Standing | undefined | Promise<Standing | undefined>
  /** The key's standing if this process knows that its window is used up. Takes nothing and asks nobody. */
  spent(quota: Quota, key: string): Standing | undefined
}

/** Slows those who try codes that are not theirs. Implemented by the HTTP floor, used by identity. */
export interface GuessGuard {
  /**
   * Runs an attempt with a code that somebody typed. One that ends in `device_login_not_found` is counted against the
   * account and the address. Refuses with `rate_limited` when either has had too many, even a right one.
   */
  attempt<T>(who: { readonly accountId: bigint; readonly address: string }, work: () => Promise<T>): Promise<T>
}

/** Slows those who keep failing to sign in. Implemented by the HTTP floor, used by identity. */
export interface SignInGuard {
  /**
   * Runs an attempt to sign in as `wallet`. An attempt that ends in an `authentication_error` is counted against the
   * wallet. Refuses with `rate_limited` when the wallet has had too many and `address` had one of them: the
   * wallet's owner, at another address, is not locked out by strangers.
   */
  attempt<T>(who: { readonly wallet: string; readonly address: string }, signIn: () => Promise<T>): Promise<T>
}
