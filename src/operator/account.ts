import { InvalidArgumentError, Option } from 'commander'
import { getAddress, isAddress } from 'viem/utils'
import { showAccount } from '../administration/accounts/show.ts'
import type { BucketRow } from '../administration/accounts/store.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Database } from '../db/database.ts'
import type { AccountType } from '../db/schema.ts'
import { type AccountRow, accountOfWallet, find, insert } from '../identity/accounts/store.ts'
import { assert } from '../kernel/assert.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseText, withJson } from '../terminal/options.ts'
import { amount, fields, print, table, time } from '../terminal/output.ts'
import { accountRoleCommand } from './account-role.ts'
import { accountSignOutCommand } from './account-sign-out.ts'
import { accountStatusCommands } from './account-status.ts'
import { findAccount } from './find-account.ts'
import { keyTable } from './key-table.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

/** `farebox account create|show|ban|unban|deactivate|reactivate|role|sign-out`. */
export const accountCommands: AddCommands = (program, around) => {
  const account = program.command('account').description('owners and Agents')
  withJson(account.command('create').description('create an account'))
    .addOption(new Option('--type <type>', 'who it is').choices(['owner', 'agent']).makeOptionMandatory())
    .option('--wallet <address>', 'wallet address, unique', parseWallet)
    .option('--email <address>', 'e-mail address', parseEmail)
    .option('--label <text>', 'a name for people', parseText)
    .action((options: NewAccount) => create(around, options))
  withJson(
    account
      .command('show <account>')
      .description('show an account (id, wallet or e-mail address): balance by bucket, keys, link, holds'),
  ).action((named: string, options: { json?: boolean }) => show(around, named, options))
  accountStatusCommands(account, around)
  accountRoleCommand(account, around)
  accountSignOutCommand(account, around)
}

interface NewAccount {
  readonly type: AccountType
  readonly wallet?: string
  readonly email?: string
  readonly label?: string
  readonly json?: boolean
}

async function create(around: ProgramSurroundings, options: NewAccount): Promise<void> {
  await withDatabase(around, 'creating the account', async ({ db }) => {
    const id = await insertAccount(db, options)
    const account = (await find(db, id)) as AccountRow
    const text = `Account ${id} is created.\n${fields(accountFields(account))}\n\nNext: farebox key create ${id}`
    print(around, options, { data: { account: accountData(account) }, text })
  })
}

async function insertAccount(db: Database, wanted: NewAccount): Promise<bigint> {
  const row = {
    accountType: wanted.type,
    walletAddress: wanted.wallet,
    email: wanted.email,
    label: wanted.label,
  }
  try {
    return await db.transaction().execute((tx) => insert(tx, row))
  } catch (cause) {
    if (wanted.wallet === undefined || (cause as { code?: unknown }).code !== '23505') throw cause
    const holder = await accountOfWallet(db, wanted.wallet)
    throw new ProgramFault(
      exitCodes.conflict,
      `That wallet belongs to account ${holder?.id}. See it by \`farebox account show ${holder?.id}\`.`,
      { cause },
    )
  }
}

async function show(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'reading the account', async ({ db }) => {
    const account = await findAccount(db, named)
    const shown = await showAccount(db, account.id)
    assert(shown, `account ${account.id} was found and is not there`)
    const { facts: holds, balance, buckets, agents, keys } = shown
    print(around, options, {
      data: {
        account: accountData(account),
        ...balance,
        buckets: buckets.map(({ kind, posted_micro, held_micro, expires_at, expired }) => ({
          kind,
          posted_micro,
          held_micro,
          expires_at,
          expired,
        })),
        agents,
        keys,
        holds: { open: holds.open, waiting: holds.flagged, held_micro: holds.held_micro },
      },
      text: [
        fields([
          ...accountFields(account),
          ['balance', amount(balance.balance_micro)],
          ['available', amount(balance.available_micro)],
          ['held', amount(balance.held_micro)],
          [
            'open calls',
            `${holds.open}, reserving ${amount(holds.held_micro)}${holds.flagged > 0n ? `; ${holds.flagged} wait: farebox hold list --account ${account.id}` : ''}`,
          ],
        ]),
        section(
          'Buckets, in the order in which they are spent',
          ['KIND', 'CREDITS', 'HELD', 'EXPIRES'],
          buckets.map(bucketRow),
        ),
        section(
          'Agents',
          ['ACCOUNT', 'BILLING MODE', 'FUNDING'],
          agents.map((agent) => [
            String(agent.agent_account_id),
            agent.billing_mode,
            agent.funding_paused ? 'paused' : 'on',
          ]),
        ),
        keys.length > 0 ? `\nKeys\n${keyTable(keys)}` : '',
      ]
        .filter((part) => part !== '')
        .join('\n'),
    })
  })
}

const bucketRow = (bucket: BucketRow): string[] => [
  bucket.kind,
  amount(bucket.posted_micro),
  amount(bucket.held_micro),
  bucket.expires_at === null ? 'never' : `${time(bucket.expires_at)}${bucket.expired ? ' (expired)' : ''}`,
]

const section = (title: string, head: readonly string[], rows: ReadonlyArray<readonly string[]>): string =>
  rows.length === 0 ? '' : `\n${title}\n${table(head, rows)}`

function accountData(account: AccountRow) {
  return { ...account, wallet_address: shownWallet(account) }
}

function accountFields(account: AccountRow): Array<readonly [string, string | null]> {
  return [
    ['account', String(account.id)],
    ['type', account.account_type],
    ['status', account.status],
    ['role', account.role === 'admin' ? 'admin' : null],
    ['wallet', shownWallet(account)],
    ['e-mail', account.email],
    ['label', account.label],
    ['created', time(account.created_at)],
    ['owner', account.owner_account_id === null ? null : `${account.owner_account_id} (${account.billing_mode})`],
  ]
}

const shownWallet = (account: AccountRow): string | null =>
  account.wallet_address === null ? null : getAddress(account.wallet_address)

function parseWallet(text: string): string {
  if (!isAddress(text))
    throw new InvalidArgumentError(
      'It takes a wallet address: 0x and 40 hexadecimal digits; in mixed case the checksum must be right.',
    )
  return text
}

function parseEmail(text: string): string {
  if (text.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(text))
    throw new InvalidArgumentError('It takes an e-mail address.')
  return text
}
