/** Makes a provider's own words fit for a log or an error: no secrets, one line, at most 500 characters. */
export class Scrubber {
  readonly #secrets: readonly string[]

  /** `secrets` are removed wherever they stand, whatever they look like. */
  constructor(secrets: readonly (string | undefined)[]) {
    this.#secrets = secrets
      .filter((secret) => secret !== undefined)
      .flatMap((secret) => [secret, secret.replace(/^(?:Bearer|Basic) +/i, '')])
      .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
      .sort((a, b) => b.length - a.length)
  }

  /** Scrubs before it cuts, so that no half of a secret survives at the edge. */
  clean(text: string): string {
    let clean = text
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, REMOVED)
    for (const pattern of KEY_SHAPES) clean = clean.replace(pattern, REMOVED)
    clean = clean.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
    return clean.length <= MESSAGE_LENGTH_MAX ? clean : clean.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()
  }
}

const MESSAGE_LENGTH_MAX = 500

/** Shorter header values (`v1`, `beta`) are no secrets, and removing them would garble every message. */
const SECRET_LENGTH_MIN = 6

const REMOVED = '[removed]'

/** What keys look like: a known prefix, also half masked as providers echo them; a Bearer value; a long unbroken run. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|gsk|xai|hf|key|fbx|api|nvapi|AIza)[-_]?[A-Za-z0-9_*.-]{12,}/g,
  /\b(?:Bearer|Basic) +[A-Za-z0-9._~+/*=-]{8,}/gi,
  /[A-Za-z0-9_*+/=-]{40,}/g,
]
