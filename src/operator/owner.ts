import { Argument, InvalidArgumentError } from 'commander'
import { invitationState, USES_MAX } from '../administration/invitations/state.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { createInvitation, revokeInvitation } from '../identity/invitations/service.ts'
import { type InvitationRow, list } from '../identity/invitations/store.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseExpiry, parseId, parseLimit, parseText, withJson, withReason } from '../terminal/options.ts'
import { fields, print, table, time } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

const EXPIRES_DEFAULT = '30d'

/** `farebox owner invite|invitations|revoke-invitation`. */
export const ownerCommands: AddCommands = (program, around) => {
  const owner = program.command('owner').description('invitation codes for new owners')
  withJson(owner.command('invite').description('make an invitation code; it is printed once'))
    .option('--uses <n>', 'how many accounts it admits', parseUses, 1)
    .option('--expires <when>', '90d, 12h, a date or an RFC 3339 time (default: 30d)', parseExpiry(around.clock))
    .option('--email <address>', 'for whom it is, as a note; anybody can use it', parseText)
    .option('--quiet', 'print the code alone')
    .action((options: NewInvitation) => invite(around, options))
  withJson(
    owner
      .command('invitations')
      .description('list the invitations, newest first')
      .option('--limit <n>', 'how many', parseLimit, 100),
  ).action((options: { limit: number; json?: boolean }) => show(around, options))
  withReason(
    withJson(
      owner
        .command('revoke-invitation')
        .description('end an invitation now; who registered with it stays')
        .addArgument(new Argument('<id>').argParser(parseId)),
    ),
  ).action((id: bigint, options: { reason: string; json?: boolean }) => end(around, id, options))
}

interface NewInvitation {
  readonly uses: number
  readonly expires?: Date
  readonly email?: string
  readonly quiet?: boolean
  readonly json?: boolean
}

async function invite(around: ProgramSurroundings, options: NewInvitation): Promise<void> {
  const expiresAt = options.expires ?? parseExpiry(around.clock)(EXPIRES_DEFAULT)
  await withDatabase(around, 'making the invitation', async ({ db, operator }) => {
    const { id, code } = await createInvitation(
      { db, random: around.random },
      { maxUses: options.uses, expiresAt, note: options.email ?? '' },
      { operator },
    )
    if (options.quiet) {
      around.write(`${code}\n`)
      return
    }
    around.writeError('Pass the code on now: it is shown this once and stored nowhere.\n')
    print(around, options, {
      data: { invitation: { id, max_uses: options.uses, expires_at: expiresAt }, code },
      text: `${fields([
        ['invitation', String(id)],
        ['accounts', String(options.uses)],
        ['expires', time(expiresAt)],
        ['for', options.email],
        ['sign-in', `<public address>/v1/auth/oidc/<provider>/start?invite=${code}`],
      ])}\n\n${code}`,
    })
  })
}

async function show(around: ProgramSurroundings, options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing invitations', async ({ db }) => {
    const rows = await list(db, options.limit)
    print(around, options, {
      data: { invitations: rows.map((row) => ({ ...row, state: stateOf(row) })) },
      text:
        rows.length === 0
          ? 'There are no invitations. Make one by `farebox owner invite`.'
          : table(
              ['ID', 'STATE', 'USED', 'EXPIRES', 'FOR', 'MADE BY'],
              rows.map((row) => [
                String(row.id),
                stateOf(row),
                `${row.uses} of ${row.max_uses}`,
                row.expires_at === null ? 'never' : time(row.expires_at),
                row.note,
                row.created_by,
              ]),
            ),
    })
  })
}

async function end(
  around: ProgramSurroundings,
  id: bigint,
  options: { reason: string; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'ending the invitation', async ({ db, operator }) => {
    const changed = await revokeInvitation(db, id, { operator, reason: options.reason })
    if (changed === undefined)
      throw new ProgramFault(
        exitCodes.failed,
        `There is no invitation ${id}. List them by \`farebox owner invitations\`.`,
      )
    print(around, options, {
      data: { invitation_id: id, changed },
      text: changed
        ? `Invitation ${id} admits nobody any more.`
        : `Invitation ${id} was ended before; nothing was changed.`,
    })
  })
}

const stateOf = (row: InvitationRow): string => invitationState(row).replace('_', ' ')

function parseUses(text: string): number {
  const uses = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (uses < 1 || uses > USES_MAX) throw new InvalidArgumentError(`It takes a whole number from 1 to ${USES_MAX}.`)
  return uses
}
