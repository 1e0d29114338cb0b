/** What one line of the checklist found. `failed` means that the server would refuse, lose money or cannot be trusted. */
export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped'

/** One line of the checklist. Holds no secret. */
export interface Check {
  readonly name: string
  readonly status: CheckStatus
  readonly found: string
  /** What to do; there is one wherever the status is `warning` or `failed`. */
  readonly fix?: string
}

/** Nothing to do. */
export const ok = (name: string, found: string): Check => ({ name, status: 'ok', found })
/** Could not or need not be asked; `found` says why. */
export const skipped = (name: string, found: string): Check => ({ name, status: 'skipped', found })
/** Works, but should be looked at. */
export const warning = (name: string, found: string, fix: string): Check => ({
  name,
  status: 'warning',
  found,
  fix,
})
/** Must be mended; `fix` says how. */
export const failed = (name: string, found: string, fix: string): Check => ({
  name,
  status: 'failed',
  found,
  fix,
})
