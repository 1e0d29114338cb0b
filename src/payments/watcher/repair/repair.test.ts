import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchedThrough } from '../../../../test/chain.ts'
import { lyingNode } from '../../../../test/lying-node.ts'
import { orderOf } from '../../../../test/orders.ts'
import { openSetting, type Setting } from '../../../../test/payment-setting.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { auditLedger } from '../../../ledger/audit.ts'
import { reconciliationReports } from '../reconciliation/service.ts'
import { RewindRefused, rewindTo } from './service.ts'

// A reorganisation that is deeper than is remembered, and the way out of it.

let setting: Setting
let round: ReturnType<Setting['rounds']>
beforeAll(async () => {
  setting = await openSetting()
  round = setting.rounds()
  await round.once()
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const block = async (count = 1) => {
  for (let mined = 0; mined < count; mined += 1) {
    await setting.chain.mine()
    await round.once()
  }
}
const nodes = () => watchedThrough([setting.chain.rpcUrl, `${setting.chain.rpcUrl}/`], [setting.asset])
const rewind = (to: bigint, watched = nodes()) =>
  rewindTo({ db: setting.database.db, clock: systemClock }, watched, { to, operator: 'ann', reason: 'a test' })
const cursor = async () => {
  const [row] = await setting.database.sql<{ block: string; stopped: string | null }>(
    'select block, stopped from chain_cursors',
  )
  return { block: BigInt(row?.block ?? 0), stopped: row?.stopped ?? null }
}

test('a reorganisation deeper than is remembered stops every watcher until the chain is rewound, and then all is read again', async () => {
  const { chain, database } = setting
  const credited = await setting.order()
  const kept = await chain.pay({ from: setting.payer, amount: credited.amount })
  await block(2)
  const signed = await chain.rpc('eth_getRawTransactionByHash', kept)
  expect((await orderOf(database, credited.id)).status).toBe('completed')
  const before = await setting.totals()
  const fork = (await chain.height()) - 2n
  await block(12)
  await database.sql('delete from chain_blocks where number < (select block - 2 from chain_cursors)')
  await chain.rpc('anvil_reorg', 14, [])
  const late = await setting.order()
  const paid = await chain.pay({ from: setting.payer, amount: late.amount, nonce: nonceAfter(await nonceOf(kept)) })
  await chain.rpc('eth_sendRawTransaction', signed)
  await block(3)
  expect(round.status()).toMatchObject({
    healthy: false,
    stopped: true,
    trouble: expect.stringMatching(/further back than is remembered.*farebox chain show 31337/),
  })
  expect((await orderOf(database, late.id)).status).toBe('pending')

  // another process, and the same one after a restart, asks no node and says the same
  const node = await lyingNode(chain.rpcUrl)
  const other = setting.rounds({ urls: [node.url] })
  await other.once()
  expect(node.requests).toBe(0)
  expect(other.status()).toMatchObject({ healthy: false, stopped: true, trouble: (await cursor()).stopped })
  await node.stop()

  await expect(rewind((await cursor()).block + 1n)).rejects.toThrow(/skip payments/)
  // above the fork, the transfer would be believed in a block that is gone
  await expect(rewind(fork + 1n)).rejects.toThrow(RewindRefused)
  await expect(rewind(fork + 1n)).rejects.toThrow(`--to ${fork}`)
  expect((await cursor()).stopped).not.toBeNull()

  const { block: from } = await cursor()
  expect(await rewind(fork)).toEqual({ from, to: fork, transfers: 1 })
  expect(await orderOf(database, credited.id)).toMatchObject({
    status: 'review_required',
    review_reason: 'reorged_after_credit',
  })
  expect(
    await database.sql('select actor, action, target_id, reason, after from audit_log order by id desc limit 1'),
  ).toMatchObject([
    { actor: 'operator:ann', action: 'rewind.chain', target_id: '31337', reason: 'a test', after: { transfers: 1 } },
  ])
  await block(3)
  expect(round.status()).toMatchObject({ healthy: true, stopped: false, trouble: undefined })
  expect(await orderOf(database, credited.id)).toMatchObject({ status: 'completed', review_resolution: 'restored' })
  expect(await orderOf(database, late.id)).toMatchObject({ status: 'completed', tx_hash: paid })
  expect((await setting.totals()).granted).toBe(before.granted + late.amount)
  const reports = await reconciliationReports(database.db, ['dev_usdc'], new Date())
  expect(reports).toMatchObject([{ ok: true, drift: 0n }])
})

test('a chain that was begun anew is told from nodes that lag, and is read again after a rewind', async () => {
  const { chain, database } = setting
  const order = await setting.order()
  await block(70)
  const height = await chain.height()
  // a node that lags is on its way, and nothing is wrong
  const node = await lyingNode(chain.rpcUrl)
  const behind = height - 3n
  node.lie = async ({ method, params }, honest) =>
    method === 'eth_getBlockByNumber' && params[0] === 'latest'
      ? honest(method, `0x${behind.toString(16)}`, false)
      : honest(method, ...params)
  const lagging = setting.rounds({ urls: [node.url, chain.rpcUrl] })
  await lagging.once()
  expect(lagging.status()).toMatchObject({ healthy: true, stopped: false })
  await node.stop()

  // all that is remembered lies above the end of the chain
  await database.sql('delete from chain_blocks where number < $1', [height - 10n])
  await chain.rpc('anvil_rollback', 30)
  await round.once()
  expect(round.status()).toMatchObject({
    healthy: false,
    stopped: false,
    trouble: expect.stringMatching(/begun anew.*farebox chain show 31337/),
  })
  await expect(rewind(height)).rejects.toThrow(/end at block/)
  await rewind(await chain.height())
  await chain.pay({ from: setting.payer, amount: order.amount })
  await block(3)
  expect(round.status()).toMatchObject({ healthy: true })
  expect((await orderOf(database, order.id)).status).toBe('completed')
})

test('nodes that disagree about the block, or do not answer, let nothing be rewound', async () => {
  const node = await lyingNode(setting.chain.rpcUrl)
  node.lie = async ({ method, params }, honest) => {
    const answer = await honest(method, ...params)
    return method === 'eth_getBlockByNumber' && answer !== null
      ? { ...(answer as object), hash: `0x${'bb'.repeat(32)}` }
      : answer
  }
  const before = await cursor()
  const watched = watchedThrough([setting.chain.rpcUrl, node.url], [setting.asset])
  await expect(rewind(before.block - 1n, watched)).rejects.toThrow(/disagree/)
  node.mode = 'too_many_requests'
  await expect(rewind(before.block - 1n, watched)).rejects.toThrow()
  expect(await cursor()).toEqual(before)
  await node.stop()
})

const nonceOf = async (hash: string) =>
  BigInt(((await setting.chain.rpc('eth_getTransactionByHash', hash)) as { nonce: string } | null)?.nonce ?? '0x0')
const nonceAfter = (nonce: bigint) => `0x${(nonce + 1n).toString(16)}`
