import { Argument } from 'commander'
import { revokeKey } from '../administration/accounts/access.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Database } from '../db/database.ts'
import { type BudgetLimits, find as findAccountById } from '../identity/accounts/store.ts'
import { isWellFormed, keyHash } from '../identity/keys/secret.ts'
import { createKey } from '../identity/keys/service.ts'
import { findByHash, type ListedKey, list as listKeys } from '../identity/keys/store.ts'
import type { Microcredits } from '../kernel/money.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseCredits, parseExpiry, parseId, parseLimit, parseText, withJson, withReason } from '../terminal/options.ts'
import { fields, print, time } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { keyRevokeAllCommand } from './key-revoke-all.ts'
import { budgetText, keyTable, shortKey } from './key-table.ts'
import type { AddCommands } from './program.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'
import { requirePepper } from './settings.ts'

/** Where `key whois` reads the key from, so that it is in no argument and no shell history. */
export interface KeyInput {
  /** The first line of standard input; empty when there is none. */
  readLine(): Promise<string>
  /** True when a person types it, and is told what to paste. */
  readonly interactive: boolean
}

/** `farebox key create|revoke|revoke-all|list|whois`. */
export function keyCommands(input: KeyInput): AddCommands {
  return (program, around) => {
    const key = program.command('key').description('API keys')
    withJson(key.command('create <account>').description('make a key; its secret is printed once and stored nowhere'))
      .option('--name <text>', 'a name for people', parseText)
      .option('--expires <when>', '90d, 12h, a date or an RFC 3339 time', parseExpiry(around.clock))
      .option('--per-call <credits>', 'the most that one call may hold', parseCredits)
      .option('--daily <credits>', 'the most of a UTC day', parseCredits)
      .option('--monthly <credits>', 'the most of a UTC month', parseCredits)
      .option('--total <credits>', 'the most ever', parseCredits)
      .option('--quiet', 'print the secret alone')
      .action((account: string, options: NewKey) => create(around, account, options))
    withReason(
      withJson(
        key
          .command('revoke')
          .description('end a key now: a call that begins after this is refused')
          .addArgument(new Argument('<id>').argParser(parseId)),
      ),
    ).action((id: bigint, options: { reason: string; json?: boolean }) => end(around, id, options))
    keyRevokeAllCommand(key, around)
    withJson(
      key
        .command('list <account>')
        .description('list the keys of an account, newest first')
        .option('--limit <n>', 'how many', parseLimit, 100),
    ).action((account: string, options: { limit: number; json?: boolean }) => list(around, account, options))
    withJson(
      key
        .command('whois')
        .description('say whose key it is; reads it from standard input and spends nothing')
        .addArgument(new Argument('[-]', 'standard input, the only source')),
    ).action((source: string | undefined, options: { json?: boolean }) => whois(around, input, source, options))
  }
}

interface NewKey {
  readonly name?: string
  readonly expires?: Date
  readonly perCall?: Microcredits
  readonly daily?: Microcredits
  readonly monthly?: Microcredits
  readonly total?: Microcredits
  readonly quiet?: boolean
  readonly json?: boolean
}

async function create(around: ProgramSurroundings, named: string, options: NewKey): Promise<void> {
  await withDatabase(around, 'making the key', async ({ db, wiring }) => {
    const pepper = requirePepper(wiring)
    const account = await findAccount(db, named)
    const budget = budgetOf(options)
    const { id, secret } = await createKey(
      { db, random: around.random, pepper },
      {
        accountId: account.id,
        ...(options.name === undefined ? {} : { name: options.name }),
        ...(options.expires === undefined ? {} : { expiresAt: options.expires }),
        ...(budget === undefined ? {} : { budget }),
      },
      { actor: { kind: 'operator', name: around.userName } },
    )
    if (account.status !== 'active')
      around.writeError(`Account ${account.id} is ${account.status}: the key works once it is active again.\n`)
    if (options.quiet) {
      around.write(`${secret}\n`)
      return
    }
    around.writeError('Keep the key now: it is shown this once and stored nowhere.\n')
    const metadata = await readKey(db, id)
    print(around, options, {
      data: { key: metadata, api_key: secret },
      text: `${fields(keyFields(metadata))}\n\n${secret}`,
    })
  })
}

function budgetOf({ perCall, daily, monthly, total }: NewKey): BudgetLimits | undefined {
  if ([perCall, daily, monthly, total].every((limit) => limit === undefined)) return undefined
  return {
    per_call_micro: perCall ?? null,
    daily_micro: daily ?? null,
    monthly_micro: monthly ?? null,
    total_micro: total ?? null,
  }
}

async function end(
  around: ProgramSurroundings,
  id: bigint,
  options: { reason: string; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'revoking the key', async ({ db, operator }) => {
    const before = await readKey(db, id)
    const wanted = { accountId: before.account_id, keyId: id }
    const { changed } = await refusedPlainly(revokeKey(db, wanted, { operator, reason: options.reason }))
    const key = await readKey(db, id)
    print(around, options, {
      data: { key, changed },
      text: changed
        ? `Key ${id} (${shortKey(key)}) of account ${key.account_id} is revoked. Calls that run are finished and billed; none begins any more.`
        : `Key ${id} (${shortKey(key)}) was revoked at ${time(key.revoked_at as Date)} already; nothing was changed.`,
    })
  })
}

async function list(
  around: ProgramSurroundings,
  named: string,
  options: { limit: number; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'listing keys', async ({ db }) => {
    const account = await findAccount(db, named)
    const keys = await listKeys(db, { accountId: account.id, limit: options.limit + 1 })
    const shown = keys.slice(0, options.limit)
    const more = keys.length > shown.length ? '\nThere are more: raise --limit.' : ''
    const none = `Account ${account.id} has no keys. Make one by \`farebox key create ${account.id}\`.`
    print(around, options, {
      data: { account_id: account.id, keys: shown, has_more: keys.length > shown.length },
      text: shown.length === 0 ? none : keyTable(shown) + more,
    })
  })
}

async function whois(
  around: ProgramSurroundings,
  input: KeyInput,
  source: string | undefined,
  options: { json?: boolean },
): Promise<void> {
  if (source !== undefined && source !== '-') {
    throw new ProgramFault(
      exitCodes.usage,
      'The key is read from standard input, so that it stays out of the shell history: run `farebox key whois` and paste it. If that was a key, it is in your history now: revoke it.',
    )
  }
  if (input.interactive) around.writeError('Paste the key and press Enter:\n')
  const pasted = (await input.readLine()).trim()
  if (pasted === '') throw new ProgramFault(exitCodes.usage, 'No key came on standard input.')
  if (!isWellFormed(pasted))
    throw new ProgramFault(
      exitCodes.failed,
      'That is not a whole key: one begins with fbx_, has 40 characters, and its checksum does not allow typos.',
    )
  await withDatabase(around, 'looking for the key', async ({ db, wiring }) => {
    const found = await findByHash(db, keyHash(pasted, requirePepper(wiring)))
    if (found === undefined)
      throw new ProgramFault(
        exitCodes.failed,
        'No account has this key. Either it was made by another server, or FAREBOX_KEY_PEPPER is not the one that the servers use.',
      )
    const key = await readKey(db, found.id)
    const account = await findAccountById(db, found.account_id)
    const works = found.alive && found.status === 'active'
    const text = fields([
      ...keyFields(key),
      ['account status', found.status],
      ['account label', account?.label],
      ['works', works ? 'yes' : 'no'],
    ])
    print(around, options, {
      data: { key, account_status: found.status, account_label: account?.label ?? null, works },
      text,
    })
  })
}

async function readKey(db: Database, id: bigint): Promise<ListedKey> {
  const [key] = await listKeys(db, { id })
  if (key === undefined)
    throw new ProgramFault(
      exitCodes.failed,
      `There is no key ${id}. \`farebox key list <account>\` shows the ids; \`farebox key whois\` finds a key by its secret.`,
    )
  return key
}

function keyFields(key: ListedKey): Array<readonly [string, string | undefined]> {
  return [
    ['key', String(key.id)],
    ['account', String(key.account_id)],
    ['name', key.name === '' ? undefined : key.name],
    ['begins and ends', shortKey(key)],
    ['status', key.status],
    ['created', time(key.created_at)],
    ['last used', key.last_used_at === null ? undefined : time(key.last_used_at)],
    ['expires', key.expires_at === null ? 'never' : time(key.expires_at)],
    ['budget in Credits', budgetText(key) ?? 'none'],
  ]
}
