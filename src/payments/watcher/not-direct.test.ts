import { type Abi, encodeFunctionData, type Hex, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import batchAccount from '../../../contracts/artifacts/BatchAccount.json' with { type: 'json' }
import devStablecoin from '../../../contracts/artifacts/DevStablecoin.json' with { type: 'json' }
import router from '../../../contracts/artifacts/Router.json' with { type: 'json' }
import { transferCall } from '../../../test/chain.ts'
import { orderOf } from '../../../test/orders.ts'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'

// Value that arrives on other ways than the payer's own plain transfer, each made for real on the chain.

/** The keys of the chain's second and first payer, which everyone knows. */
const OTHER_KEY = '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e'
const FIRST_KEY = '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'

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

// an order that an earlier test left open would be the one that a near miss is put to
beforeEach(async () => {
  await setting.database.sql(`update orders set status = 'expired' where status in ('pending', 'confirming')`)
})

const confirm = async () => {
  for (let block = 0; block < 2; block += 1) {
    await setting.chain.mine()
    await round.once()
  }
}
const encode = (abi: readonly object[], functionName: string, args: readonly unknown[]) =>
  encodeFunctionData({ abi: abi as Abi, functionName, args })
const deploy = (bytecode: string) => setting.chain.deploy(bytecode)
/** The order after a look-alike of it: what it has become, and that it got no Credits. */
async function outcome(id: string) {
  const order = await orderOf(setting.database, id)
  expect(order.grant_id).toBeNull()
  return { status: order.status, reason: order.review_reason, received: order.received_micro }
}

test('a router that spends an allowance delivers value, and is reviewed as not direct', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const contract = await deploy(router.bytecode)
  await chain.send({
    from: payer,
    to: chain.token,
    data: encode(devStablecoin.abi, 'approve', [contract, amount]),
  })
  await chain.send({
    from: payer,
    to: contract,
    data: encode(router.abi, 'pay', [chain.token, chain.recipient, amount]),
  })
  await confirm()
  expect(await outcome(id)).toEqual({
    status: 'review_required',
    reason: 'not_direct',
    received: amount,
  })
})

test("a stranger who spends the payer's allowance is not direct", async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const spender = chain.payers[3] ?? ''
  await chain.send({
    from: payer,
    to: chain.token,
    data: encode(devStablecoin.abi, 'approve', [spender, amount]),
  })
  await chain.mine()
  await chain.send({
    from: spender,
    to: chain.token,
    data: encode(devStablecoin.abi, 'transferFrom', [payer, chain.recipient, amount]),
  })
  await confirm()
  expect(await outcome(id)).toMatchObject({ status: 'review_required', reason: 'not_direct' })
})

test('an EIP-3009 authorization that somebody else sends is not direct', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const account = privateKeyToAccount(FIRST_KEY)
  const message = {
    from: payer as Hex,
    to: chain.recipient as Hex,
    value: amount,
    validAfter: 0n,
    validBefore: 10n ** 12n,
    nonce: `0x${'ab'.repeat(32)}` as Hex,
  }
  const fields = [
    ['from', 'address'],
    ['to', 'address'],
    ['value', 'uint256'],
    ['validAfter', 'uint256'],
    ['validBefore', 'uint256'],
    ['nonce', 'bytes32'],
  ] as const
  const signature = await account.signTypedData({
    domain: {
      ...setting.asset.signingDomain,
      chainId: 31_337,
      verifyingContract: chain.token as Hex,
    },
    types: { TransferWithAuthorization: fields.map(([name, type]) => ({ name, type })) },
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const { r, s, v } = parseSignature(signature)
  const abi = devStablecoin.abi.filter((item) => item.name === 'transferWithAuthorization' && item.inputs?.length === 9)
  const data = encode(abi, 'transferWithAuthorization', [
    message.from,
    message.to,
    amount,
    0n,
    message.validBefore,
    message.nonce,
    Number(v),
    r,
    s,
  ])
  const hash = await chain.send({ from: chain.payers[3] ?? '', to: chain.token, data })
  await confirm()
  expect(await setting.transfer(hash)).toMatchObject({ order_id: id })
  expect(await outcome(id)).toMatchObject({ status: 'review_required', reason: 'not_direct' })
})

test("an upgraded account (EIP-7702) pays directly with a plain transfer, and not by a batch, its own or a relayer's", async () => {
  const { chain } = setting
  const account = privateKeyToAccount(OTHER_KEY)
  const wallet = account.address.toLowerCase()
  const { payerAccount } = await import('../../../test/orders.ts')
  const accountId = await payerAccount(setting.database, wallet)
  const implementation = await deploy(batchAccount.bytecode)
  await chain.rpc('anvil_setCode', wallet, `0xef0100${implementation.slice(2)}`)

  const plain = await setting.order({ accountId, payer: wallet })
  const hash = await chain.pay({ from: wallet, amount: plain.amount })
  await confirm()
  expect(await orderOf(setting.database, plain.id)).toMatchObject({
    status: 'completed',
    tx_hash: hash,
  })

  for (const sender of [wallet, chain.payers[3] ?? '']) {
    const batched = await setting.order({ accountId, payer: wallet })
    const calls = [{ to: chain.token, data: transferCall(chain.recipient, batched.amount) }]
    await chain.send({
      from: sender,
      to: wallet,
      data: encode(batchAccount.abi, 'execute', [calls]),
    })
    await confirm()
    expect(await outcome(batched.id)).toMatchObject({
      status: 'review_required',
      reason: 'not_direct',
    })
  }
})

test('bytes that a wallet appends to a plain transfer do not make it indirect', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  await chain.send({
    from: payer,
    to: chain.token,
    data: `${transferCall(chain.recipient, amount)}${'80218021'.repeat(8)}`,
  })
  await confirm()
  expect((await orderOf(setting.database, id)).status).toBe('completed')
})

/** What a wallet of the test signs by itself: the chain's own accounts sign nothing like it. */
async function signed(id: string, transaction: { type: 'legacy' | 'eip7702'; chainId?: number }, amount: bigint) {
  const { chain } = setting
  const account = privateKeyToAccount(FIRST_KEY)
  const nonce = Number(await chain.rpc('eth_getTransactionCount', setting.payer, 'latest'))
  const common = {
    to: chain.token as Hex,
    data: transferCall(chain.recipient, amount) as Hex,
    value: 0n,
    gas: 200_000n,
    nonce,
  }
  const raw =
    transaction.type === 'legacy'
      ? await account.signTransaction({
          ...common,
          type: 'legacy',
          gasPrice: 10n ** 10n,
          ...(transaction.chainId === undefined ? {} : { chainId: transaction.chainId }),
        })
      : await account.signTransaction({
          ...common,
          type: 'eip7702',
          chainId: 31_337,
          maxFeePerGas: 10n ** 10n,
          maxPriorityFeePerGas: 10n ** 9n,
          authorizationList: [
            await account.signAuthorization({
              address: (await deploy(batchAccount.bytecode)) as Hex,
              chainId: 31_337,
              nonce: nonce + 1,
            }),
          ],
        })
  const hash = String(await chain.rpc('eth_sendRawTransaction', raw))
  await confirm()
  return { hash, order: await orderOf(setting.database, id) }
}

test('a legacy transaction that is signed for this chain pays; one that is signed for any chain is reviewed', async () => {
  const own = await setting.order()
  const paid = await signed(own.id, { type: 'legacy', chainId: 31_337 }, own.amount)
  expect(paid.order).toMatchObject({ status: 'completed', tx_hash: paid.hash })
  const any = await setting.order()
  const { order, hash } = await signed(any.id, { type: 'legacy' }, any.amount)
  expect(order).toMatchObject({ status: 'review_required', review_reason: 'not_direct', tx_hash: hash, grant_id: null })
  expect(await setting.transfer(hash)).toMatchObject({ note: 'its signature is not for this chain alone' })
  await setting.database.sql(`update orders set status = 'expired' where id = $1`, [any.id])
})

test('a transaction that upgrades its account (EIP-7702) and calls the token itself is direct', async () => {
  const { id, amount } = await setting.order()
  const { order, hash } = await signed(id, { type: 'eip7702' }, amount)
  expect(await setting.chain.rpc('eth_getTransactionByHash', hash)).toMatchObject({ type: '0x4' })
  expect(order).toMatchObject({ status: 'completed', tx_hash: hash })
})
