import type { Database, Tx } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import { LONGEST_LIFETIME_SECONDS } from './kinds.ts'
import { type KeyPair, keyPairOf, SEED_BYTES, seal, sealingKey, unseal } from './seal.ts'
import * as store from './store.ts'

/** What signing keys need from outside. */
export interface KeyringDeps {
  readonly db: Database
  readonly pepper: Buffer
  readonly random: Random
  readonly clock: Clock
}

/** A key in use. */
export interface SigningKey extends KeyPair {
  readonly kid: string
}

/** The signing keys as this process knows them. Rotations by others arrive within RELOAD_AFTER_MS, without a restart. */
export interface Keyring {
  /** The key that signs. */
  active(): Promise<SigningKey>
  /** The key with this id while it still verifies. An unknown id is looked up in the database once more. */
  find(kid: string): Promise<SigningKey | undefined>
}

/** Why tokens cannot be signed. Its message says what to do. */
class KeyringFault extends Error {
  override name = 'KeyringFault'
}

/** Known keys are read again when they are used after this long: so late at most is a rotation noticed. */
const RELOAD_AFTER_MS = 30_000
/** Unknown ids make this process read the keys at most this often; who sends one in between waits for the next reading. */
const RELOAD_AT_MOST_EVERY_MS = 1_000
const KID_SHAPE = /^[0-9A-Za-z_-]{12}$/
const KID_BYTES = 9

/** Opens the keyring; the first server on a new database brings the first key. Throws KeyringFault under a wrong pepper. */
export async function openKeyring(deps: KeyringDeps): Promise<Keyring> {
  const sealing = sealingKey(deps.pepper)
  let keys = new Map<string, SigningKey>()
  let active: SigningKey | undefined
  let loadedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    const startedAtMs = deps.clock.monotonicMs()
    const rows = await store.usableKeys(deps.db)
    const read = new Map<string, SigningKey>()
    let signing: SigningKey | undefined
    for (const row of rows) {
      const known = keys.get(row.kid)
      const seed = known ? undefined : unseal(row.sealed_seed, { key: sealing, kid: row.kid })
      const key = known ?? (seed && { kid: row.kid, ...keyPairOf(seed) })
      // a key of another pepper verifies nothing here; whether that matters is said by `active`
      if (key) read.set(row.kid, key)
      if (key && row.retired_at === null) signing = key
    }
    keys = read
    active = signing
    loadedAtMs = startedAtMs
  }

  /** One reading at a time, shared by everyone who waits for it. */
  function reload(afterMs = 0): Promise<void> {
    loading ??= (afterMs > 0 ? pause(afterMs) : Promise.resolve()).then(load).finally(() => {
      loading = undefined
    })
    return loading
  }

  async function refresh(): Promise<void> {
    if (deps.clock.monotonicMs() - loadedAtMs >= RELOAD_AFTER_MS) await reload()
  }

  await store.insertFirst(deps.db, newSealedKey(deps, sealing))
  await reload()
  if (!active)
    throw new KeyringFault(
      'The signing key in the database was sealed under another key pepper: set the FAREBOX_KEY_PEPPER it was made with, or run farebox signing-key rotate.',
    )

  return {
    async active() {
      await refresh()
      if (!active)
        throw new KeyringFault(
          'The signing key in the database was sealed under another key pepper: all servers of one database share one FAREBOX_KEY_PEPPER.',
        )
      return active
    },
    async find(kid) {
      if (!KID_SHAPE.test(kid)) return undefined
      await refresh()
      if (!keys.has(kid)) await reload(loadedAtMs + RELOAD_AT_MOST_EVERY_MS - deps.clock.monotonicMs())
      return keys.get(kid)
    },
  }
}

/**
 * Puts a new key in place of the one that signs, which still verifies until its last token has expired. `dropOld`
 * ends every older key now, for keys that leaked: everyone has to sign in again. Gives the new key's id.
 */
export async function rotateSigningKey(
  tx: Tx,
  wanted: { pepper: Buffer; random: Random; dropOld: boolean },
): Promise<string> {
  const key = newSealedKey(wanted, sealingKey(wanted.pepper))
  // servers that have not noticed yet go on signing with the old key for a while
  const verifiesForSeconds = LONGEST_LIFETIME_SECONDS + (2 * RELOAD_AFTER_MS) / 1000
  await store.replace(tx, key, verifiesForSeconds)
  if (wanted.dropOld) await store.dropRetired(tx)
  return key.kid
}

function newSealedKey({ random }: { random: Random }, key: Buffer): { kid: string; sealed_seed: Buffer } {
  const kid = random.bytes(KID_BYTES).toString('base64url')
  return { kid, sealed_seed: seal(random.bytes(SEED_BYTES), { key, kid, random }) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
