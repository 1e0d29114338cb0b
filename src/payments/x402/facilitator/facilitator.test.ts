import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openTopUps, type TopUpSetting } from '../../../../test/x402.ts'
import { eventually, type Proof, proofOf } from '../../../../test/x402-proofs.ts'

/** What a facilitator does when it is asked to verify and to settle. */
interface Behaviour {
  readonly verify: 'valid' | 'invalid' | 'not json' | 'http 500' | 'hangs' | 'hangs in the body'
  readonly settles: boolean
  readonly says: 'the truth' | 'failed' | 'http 500' | 'nothing' | { readonly transaction: string }
}
const HONEST: Behaviour = { verify: 'valid', settles: true, says: 'the truth' }

let setting: TopUpSetting
let behaviour: Behaviour
const asked: { path: string; authorization: string | undefined }[] = []
const facilitator = createServer((request, response) => void answer(request, response))

beforeAll(async () => {
  await listen(0)
  const { port } = facilitator.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/x402/`
  // as long as can be said: where it hangs, no test could wait for that
  setting = await openTopUps({ x402: { facilitator: { url, verify_timeout_ms: 2_000, settle_timeout_ms: 120_000 } } })
})
beforeEach(() => {
  behaviour = HONEST
})
afterAll(async () => {
  await setting.stop()
  facilitator.closeAllConnections()
  facilitator.close()
})

async function listen(port: number): Promise<void> {
  facilitator.listen(port, '127.0.0.1')
  await once(facilitator, 'listening')
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { paymentPayload } = JSON.parse(Buffer.concat(parts).toString())
  const path = request.url ?? ''
  asked.push({ path, authorization: request.headers.authorization })
  const json = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (path === '/x402/verify') {
    if (behaviour.verify === 'not json') return void response.writeHead(200).end('<html>')
    if (behaviour.verify === 'http 500') return void response.writeHead(500).end()
    if (behaviour.verify === 'hangs') return
    if (behaviour.verify === 'hangs in the body')
      return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"isValid": true')
    return void json(200, { isValid: behaviour.verify === 'valid' })
  }
  const transaction = behaviour.settles ? await carryOut(paymentPayload) : ''
  const { says } = behaviour
  if (says === 'nothing') return
  if (says === 'http 500') return void response.writeHead(500).end()
  if (says === 'failed') return void json(200, { success: false, errorReason: 'failed', transaction: '' })
  json(200, { success: true, transaction: says === 'the truth' ? transaction : says.transaction })
}

function carryOut({ payload }: Proof['payload']): Promise<string> {
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization
  const authorization = {
    payer: from.toLowerCase(),
    recipient: to.toLowerCase(),
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce,
  }
  return setting.carryOut(proofOf(setting.chain, 2, authorization, payload.signature))
}

const handedOver = ({ authorization }: Proof) =>
  eventually(async () => {
    const rows = `select from x402_payments where nonce = $1 and status = 'pending'`
    return (await setting.database.sql(rows, [authorization.nonce])).length > 0
  }, 'the payment is handed over')

/** Sends a proof and, once it is handed over, lets the time of the request pass. */
async function lapsed(proof: Proof) {
  const answer = setting.topUp({ amount: proof.authorization.value, headers: proof.headers })
  await handedOver(proof)
  setting.advance(16_000)
  return answer
}

test('an honest facilitator settles, and the chain confirms it', async () => {
  const wallet = await setting.wallet()
  const { status, json } = await setting.pay({ wallet })
  expect([status, json.status]).toEqual([200, 'credited'])
  expect(asked.slice(-2).map(({ path }) => path)).toEqual(['/x402/verify', '/x402/settle'])
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
})

test('37 whatever transaction a lying facilitator names, nothing is credited that the chain does not show', async () => {
  const before = await setting.pay({ wallet: await setting.wallet() })
  const failed = await setting.sent({ to: setting.chain.token, data: '0x00000000' })
  for (const transaction of [`0x${'ab'.repeat(32)}`, before.json.transaction_hash, failed]) {
    behaviour = { verify: 'valid', settles: false, says: { transaction } }
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    const { status, json } = await lapsed(proof)
    expect([status, json.status, json.transaction_hash]).toEqual([202, 'pending', ''])
    expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
    // the same proof works once the facilitator does what it says
    behaviour = HONEST
    setting.advance(11_000)
    expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
  }
})

test.each(['failed', 'http 500', 'nothing'] as const)(
  '38 a facilitator that settles and then says %j does not keep the payment from being credited, once',
  async (says) => {
    behaviour = { verify: 'valid', settles: true, says }
    const wallet = await setting.wallet()
    const { status } = await setting.pay({ wallet })
    expect(status).toBe(200)
    expect(await setting.transfers(wallet)).toHaveLength(1)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
  },
)

test('38 a facilitator that hangs in /settle and sends nothing keeps no other payment waiting; the same proof is credited once it heals', async () => {
  behaviour = { verify: 'valid', settles: false, says: 'nothing' }
  const [stuck, other] = [await setting.wallet(), await setting.wallet()]
  const proof = await setting.sign({ wallet: stuck })
  const asks = setting.topUp({ amount: 1_000_000n, headers: proof.headers })
  const settles = () => asked.filter(({ path }) => path === '/x402/settle').length
  const before = settles()
  await eventually(() => settles() > before, 'the facilitator hangs')
  await handedOver(proof)
  behaviour = HONEST
  // for two minutes nothing comes of the one that hangs
  expect((await setting.pay({ wallet: other })).status).toBe(200)
  setting.advance(16_000)
  const { status, json } = await asks
  expect([status, json.status, json.retry_action]).toEqual([202, 'pending', 'poll'])
  expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
  expect(await setting.transfers(stuck)).toHaveLength(1)
  expect(await setting.credits(stuck)).toEqual({ grants: 1, micro: 1_000_000n })
})

test.each(['not json', 'http 500', 'invalid', 'down', 'hangs', 'hangs in the body'] as const)(
  '39 a facilitator that is %j before anything is sent makes a 503, and the same proof works when it heals',
  async (how) => {
    const { port } = facilitator.address() as AddressInfo
    if (how === 'down') {
      facilitator.closeAllConnections()
      await new Promise((resolve) => facilitator.close(resolve))
    } else behaviour = { ...HONEST, verify: how }
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    const refused = await setting.topUp({ amount: 1_000_000n, headers: proof.headers })
    expect(refused.status).toBe(503)
    expect(refused.json).toMatchObject({ code: 'topup_unavailable', retry_action: 'retry_same_payment' })
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(await setting.transfers(wallet)).toEqual([])
    if (how === 'down') await listen(port)
    behaviour = HONEST
    setting.advance(1_500)
    expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
  },
)

test('after all of it the ledger is whole', async () => {
  await setting.quiet()
  expect(await setting.audit()).toEqual([])
})
