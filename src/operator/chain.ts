import { type Command, InvalidArgumentError } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { assets } from '../chains/assets.ts'
import { NodesDisagree, NodeUnavailable } from '../chains/chain.ts'
import { RewindRefused, rewindTo } from '../payments/watcher/repair/service.ts'
import * as store from '../payments/watcher/repair/store.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { age, fields, print, table, time } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'
import { watchedChain } from './watched-chain.ts'

/** `farebox chain list|show|rewind`: how far each chain was read, and the repair of one that stands. */
export const chainCommands: AddCommands = (program, around) => {
  const chain = program.command('chain').description('the chains that payments come in on')
  withJson(chain.command('list').description('list the chains that were read, and whether each goes on')).action(
    (options: { json?: boolean }) => list(around, options),
  )
  withJson(
    chain.command('show <chain>').description('show how far a chain was read, why it stands, and what to run'),
  ).action((named: string, options: { json?: boolean }) => show(around, named, options))
  rewindCommand(chain, around)
}

interface RewindOptions {
  readonly to: bigint
  readonly reason: string
  readonly json?: boolean
}

function rewindCommand(chain: Command, around: ProgramSurroundings): void {
  withReason(withJson(chain.command('rewind <chain>').description('go back to a block, and read on from there')))
    .requiredOption('--to <block>', 'the last block that is believed: every node must have it', parseBlock)
    .action((named: string, options: RewindOptions) => rewind(around, named, options))
}

async function list(around: ProgramSurroundings, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing chains', async ({ db }) => {
    const chains = await store.chains(db)
    const rows = chains.map((chain) => [
      String(chain.chain_id),
      networkOf(chain.chain_id),
      stateOf(chain),
      String(chain.block),
      String(chain.head_block),
      age((around.clock.now().getTime() - chain.updated_at.getTime()) / 1000),
    ])
    print(around, options, {
      data: { chains: chains.map(chainData) },
      text:
        rows.length === 0
          ? 'No chain was read yet: a running server reads those of its assets.'
          : table(['CHAIN', 'NETWORK', 'STATE', 'READ TO', 'HEAD', 'AGE'], rows, ['READ TO', 'HEAD']),
    })
  })
}

async function show(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  const chainId = parseChain(named)
  await withDatabase(around, 'reading the chain', async ({ db }) => {
    const [chain] = await store.chains(db, chainId)
    if (!chain) throw new ProgramFault(exitCodes.failed, `Chain ${chainId} was never read. See \`farebox chain list\`.`)
    const transfers = await store.transfersByState(db, chainId)
    const counted = transfers.map((row) => [row.state, String(row.transfers), String(row.highest_block)])
    const known = chain.oldest_known_block === null ? 'none' : `${chain.oldest_known_block} to ${chain.block}`
    print(around, options, {
      data: { chain: chainData(chain), transfers },
      text: [
        fields([
          ['chain', `${chainId} ${networkOf(chainId)}`.trim()],
          ['state', stateOf(chain)],
          ['read to', `block ${chain.block} ${chain.hash}`],
          ['head', `block ${chain.head_block} at ${time(chain.head_at)}`],
          ['finalized', `block ${chain.finalized_block}`],
          ['remembered', `blocks ${known}`],
          ['read', time(chain.updated_at)],
          ['stopped', chain.stopped_at === null ? null : time(chain.stopped_at)],
          ['trouble', chain.stopped ?? chain.trouble],
          ['rewound', chain.rewound_at === null ? null : `to ${chain.rewound_to} at ${time(chain.rewound_at)}`],
        ]),
        counted.length === 0
          ? 'No transfers.'
          : table(['TRANSFERS', 'COUNT', 'HIGHEST BLOCK'], counted, ['COUNT', 'HIGHEST BLOCK']),
        adviceFor(chain),
      ].join('\n\n'),
    })
  })
}

async function rewind(around: ProgramSurroundings, named: string, options: RewindOptions): Promise<void> {
  const chainId = parseChain(named)
  await withDatabase(around, 'going back', async ({ db, wiring }) => {
    const watched = watchedChain(around, wiring, chainId)
    const wanted = { to: options.to, operator: around.userName, reason: options.reason }
    const rewound = await rewindTo({ db, clock: around.clock }, watched, wanted).catch((error: unknown) => {
      if (error instanceof RewindRefused) throw new ProgramFault(exitCodes.conflict, error.message)
      if (error instanceof NodeUnavailable || error instanceof NodesDisagree)
        throw new ProgramFault(exitCodes.failed, `${error.message}. Nothing was changed: all nodes have to agree.`)
      throw error
    })
    print(around, options, {
      data: { chain_id: chainId, ...rewound },
      text: `Chain ${chainId} went back from block ${rewound.from} to ${rewound.to}; ${rewound.transfers} ${rewound.transfers === 1 ? 'transfer above it is' : 'transfers above it are'} looked for again.\nA running server reads on by itself. Next: farebox review list`,
    })
  })
}

function stateOf(chain: store.ChainRow): string {
  if (chain.stopped !== null) return 'STOPPED'
  if (!chain.is_read) return 'nobody reads it'
  return chain.healthy === true ? 'ok' : 'TROUBLE'
}

/** What to run, where there is something to run. */
function adviceFor(chain: store.ChainRow): string {
  const rewind = `farebox chain rewind ${chain.chain_id} --to <block> --reason <text>`
  if (chain.stopped !== null)
    return `Find the highest block that the nodes and an independent source have alike, at or below ${chain.block}, then:\n  ${rewind}`
  return `Only when the chain was begun anew, or a wrong branch was read: ${rewind}`
}

const networkOf = (chainId: bigint): string =>
  assets.find((asset) => BigInt(asset.chainId) === chainId)?.networkName ?? ''

const chainData = (chain: store.ChainRow) => ({
  ...chain,
  network_name: networkOf(chain.chain_id),
  state: stateOf(chain),
})

function parseChain(text: string): bigint {
  if (/^\d{1,15}$/.test(text)) return BigInt(text)
  throw new ProgramFault(exitCodes.usage, 'That is no chain id: `farebox chain list` names them in its first column.')
}

function parseBlock(text: string): bigint {
  if (/^\d{1,15}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError('It takes the number of a block.')
}
