import { type Command, InvalidArgumentError } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { type Action, actions } from '../identity/audit-log/actions.ts'
import { exported } from '../identity/audit-log/chain.ts'
import { exportAuditLog, listAuditLog, type Verification, verifyAuditLog } from '../identity/audit-log/service.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseLimit, parseText, withJson } from '../terminal/options.ts'
import { print, table } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

interface ListOptions {
  readonly actor?: string
  readonly action?: Action
  readonly target?: { readonly kind: string; readonly id: string }
  readonly limit: number
  readonly json?: boolean
}

/** `farebox audit-log list|verify|export`: who did what, and whether that is still what was written down. */
export const auditLogCommands: AddCommands = (program, around) => {
  const log = program.command('audit-log').description('what operators, accounts and the server did')
  addList(log, around)
  addVerify(log, around)
  log
    .command('export')
    .description('write all entries to standard output, oldest first, one JSON object a line')
    .action(() =>
      withDatabase(around, 'reading the audit log', ({ db }) =>
        exportAuditLog(db, (row) => around.write(`${JSON.stringify(row)}\n`)),
      ),
    )
}

function addList(log: Command, around: ProgramSurroundings): void {
  withJson(log.command('list').description('show the newest entries, newest first'))
    .option('--actor <actor>', 'only what this one did: operator:<name>, or the id of an account', parseText)
    .option('--action <action>', 'only this, such as ban.account', parseAction)
    .option('--target <kind:id>', 'only what was done to this, such as account:7', parseTarget)
    .option('--limit <n>', 'how many at most', parseLimit, 50)
    .action(async ({ actor, action, target, limit, json }: ListOptions) => {
      const rows = await withDatabase(around, 'reading the audit log', ({ db }) =>
        listAuditLog(db, { actor, action, targetKind: target?.kind, targetId: target?.id, limit }),
      )
      const lines = rows.map((row) => [
        String(row.id),
        `${row.at.slice(0, 19).replace('T', ' ')}Z`,
        nameOf(row),
        row.action,
        `${row.target_kind}:${row.target_id}`,
        row.before ?? '',
        row.after ?? '',
        row.reason ?? '',
      ])
      print(
        around,
        { json: json === true },
        {
          data: { entries: rows.map(exported) },
          text:
            rows.length === 0
              ? 'No entry matches.'
              : table(['ID', 'AT', 'BY', 'ACTION', 'TARGET', 'BEFORE', 'AFTER', 'REASON'], lines, ['ID']),
        },
      )
    })
}

function addVerify(log: Command, around: ProgramSurroundings): void {
  withJson(
    log
      .command('verify')
      .description(
        'check every entry against the one before it; exit code 1 when one was changed, removed, added or moved',
      ),
  )
    .option('--head <id:hash>', 'a head that an earlier run printed, which must still be in the log', parseHead)
    .action(async ({ head, json }: { head?: Head; json?: boolean }) => {
      const found = await withDatabase(around, 'checking the audit log', ({ db }) => verifyAuditLog(db, head))
      const { broken, rows } = found
      print(
        around,
        { json: json === true },
        {
          data: {
            rows,
            head: { id: found.head.id, hash: found.head.hash },
            broken: broken ?? null,
          },
          text: broken
            ? `Entries 1 to ${found.head.id} are as they were written. At ${broken.id}: ${broken.problem}.`
            : whole(found),
        },
      )
      if (broken)
        throw new ProgramFault(
          exitCodes.failed,
          'The audit log is not as it was written. Keep this output and the database as they are, and compare with a backup.',
        )
    })
}

type Head = Verification['head']

function whole({ rows, head }: Verification): string {
  if (rows === 0) return 'The audit log is empty.'
  return `The audit log is whole: ${rows} ${rows === 1 ? 'entry' : 'entries'}.\nIts head is ${head.id}:${head.hash}. Note it outside this database; verify --head proves later that nothing up to it was rewritten.`
}

function nameOf({ actor_kind: kind, actor }: { actor_kind: string; actor: string }): string {
  return kind === 'operator' ? actor : `${kind}:${actor}`
}

function parseAction(text: string): Action {
  if (Object.hasOwn(actions, text)) return text as Action
  throw new InvalidArgumentError(`It takes one of ${Object.keys(actions).join(', ')}.`)
}

function parseTarget(text: string): { kind: string; id: string } {
  const [, kind, id] = /^([a-z_]+):(.+)$/.exec(text) ?? []
  if (kind === undefined || id === undefined)
    throw new InvalidArgumentError('It takes a kind and an id, such as account:7.')
  return { kind, id }
}

function parseHead(text: string): Head {
  const [, id, hash] = /^(\d{1,16}):([0-9a-f]{64})$/.exec(text) ?? []
  if (id === undefined || hash === undefined)
    throw new InvalidArgumentError('It takes an id and a hash as verify prints them: 5:9f2c…')
  return { id: BigInt(id), hash }
}
