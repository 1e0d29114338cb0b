/** Who is calling, as the credential proves it. */
export interface Caller {
  readonly accountId: bigint
  readonly credential: { readonly kind: 'api_key' | 'session'; readonly id: bigint }
  /** True where the credential is a session of an admin and was checked now. Keys never are: a key is for programs. */
  readonly admin?: boolean
}

/** How a request proves who it is from. Implemented by identity, used by the HTTP floor. */
export interface Authenticator {
  /**
   * The caller of a Bearer token, checked against the database now.
   * Refuses with `unauthorized`, `account_banned` or `account_deactivated`.
   */
  authenticate(token: string): Promise<Caller>
  /**
   * The caller that the token belongs to, possibly remembered: whether it may still spend is decided inside the
   * transaction that holds the money. Refuses tokens that never existed with `unauthorized`.
   */
  recognise(token: string): Promise<Caller>
}
