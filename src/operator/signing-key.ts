import type { ProgramSurroundings } from '../app/surroundings.ts'
import { recordAction } from '../identity/audit-log/service.ts'
import { rotateSigningKey } from '../identity/tokens/keyring.ts'
import * as store from '../identity/tokens/store.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'
import { requirePepper } from './settings.ts'

/** `farebox signing-key rotate|list`: the keys that sessions are signed with. API keys do not depend on them. */
export const signingKeyCommands: AddCommands = (program, around) => {
  const noun = program.command('signing-key').description('the keys that access and refresh tokens are signed with')
  withReason(
    withJson(
      noun.command('rotate').description('sign with a new key; the old one verifies until its last token has expired'),
    ),
  )
    .option('--drop-old', 'end every older key now, because it leaked: all sessions sign in again')
    .action((options: RotateOptions) => rotate(around, options))
  withJson(noun.command('list').description('list the keys, newest first')).action((options: { json?: boolean }) =>
    list(around, options),
  )
}

interface RotateOptions {
  readonly reason: string
  readonly dropOld?: boolean
  readonly json?: boolean
}

async function rotate(around: ProgramSurroundings, options: RotateOptions): Promise<void> {
  const { reason, dropOld = false } = options
  const kid = await withDatabase(around, 'rotating the signing key', ({ db, wiring }) =>
    db.transaction().execute(async (tx) => {
      const pepper = requirePepper(wiring)
      const kid = await rotateSigningKey(tx, { pepper, random: around.random, dropOld })
      await recordAction(tx, {
        actor: { kind: 'operator', name: around.userName },
        action: 'rotate.signing_key',
        targetId: kid,
        after: { drop_old: dropOld },
        reason,
      })
      return kid
    }),
  )
  const signs = `${kid} signs from now on; every server uses it within 30 seconds.`
  const dropped = 'Older keys verify nothing any more: all sessions have to sign in again.'
  print(around, options, {
    data: { kid, dropped_old: dropOld },
    text: dropOld ? `${signs}\n${dropped}` : signs,
  })
}

async function list(around: ProgramSurroundings, options: { json?: boolean }): Promise<void> {
  const rows = await withDatabase(around, 'reading the signing keys', ({ db }) => store.allKeys(db))
  const now = around.clock.now()
  const keys = rows.map(({ kid, created_at, verifies_until }) => ({
    kid,
    created_at: created_at.toISOString(),
    state: stateOf(verifies_until, now),
    verifies_until: verifies_until?.toISOString() ?? null,
  }))
  const lines = keys.map(({ kid, created_at, state, verifies_until }) =>
    `${kid}  made ${created_at}  ${state} ${state === 'verifies' ? `until ${verifies_until}` : ''}`.trim(),
  )
  print(around, options, { data: { keys }, text: lines.join('\n') })
}

function stateOf(verifiesUntil: Date | null, now: Date): 'signs' | 'verifies' | 'expired' {
  if (verifiesUntil === null) return 'signs'
  return verifiesUntil > now ? 'verifies' : 'expired'
}
