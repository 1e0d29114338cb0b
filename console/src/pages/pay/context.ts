/** A payment that somebody prepared: signed by the server, good for 15 minutes. */
export interface PaymentContext {
  readonly token: string
  /** For the form; the server holds the order to what it signed. */
  readonly amountMicro: bigint
}

const KEPT = 'farebox:payment-context'

/**
 * The context of the address's fragment, which is then cleared. A sign-in in between leaves the page, so it is kept
 * for this tab until it is used.
 */
export function takeContext(): PaymentContext | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('context') ?? sessionStorage.getItem(KEPT)
  if (token === null) return undefined
  history.replaceState(history.state, '', location.pathname + location.search)
  sessionStorage.removeItem(KEPT)
  const amount = amountIn(token)
  return amount === undefined ? undefined : { token, amountMicro: amount }
}

/** Keeps the fragment's context over a sign-in. */
export function keepContext(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('context')
  if (token !== null) sessionStorage.setItem(KEPT, token)
}

function amountIn(token: string): bigint | undefined {
  try {
    const payload = atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))
    const { amount_micro: amount } = JSON.parse(payload)
    return /^\d{1,16}$/.test(String(amount)) ? BigInt(amount) : undefined
  } catch {
    return undefined
  }
}
