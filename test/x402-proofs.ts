import { randomBytes } from 'node:crypto'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Authorization, signAuthorization } from '../src/chains/authorizations/authorization.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { type TestChain, transferCall, word } from './chain.ts'

const TOKEN_OWNER = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Waits until a condition holds, for as long as a machine with too much to do may need. */
export async function eventually(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + 45_000; performance.now() < deadline; ) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`never came true: ${what}`)
}

/** What a wallet signs; every member has a usual value. */
export interface Signed {
  readonly wallet: PrivateKeyAccount
  readonly version: 1 | 2
  readonly amount: bigint
  readonly nonce: string
  readonly to: string
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** The EIP-712 domain's chain. */
  readonly chainId: number
  readonly token: string
}

/** A proof, before it is a header. */
export interface Proof {
  readonly version: 1 | 2
  readonly authorization: Authorization
  readonly signature: string
  readonly headers: Record<string, string>
  /** The JSON in the header. */
  // biome-ignore lint/suspicious/noExplicitAny: tests take it apart
  readonly payload: any
}

/** Transfers from a wallet to the recipient that a chain has. */
export async function transfersOf(
  chain: Pick<TestChain, 'rpc' | 'token' | 'recipient'>,
  { address }: { address: string },
): Promise<{ amount: bigint; txHash: string }[]> {
  const topics = [TRANSFER_TOPIC, `0x${word(address)}`, `0x${word(chain.recipient)}`]
  const logs = (await chain.rpc('eth_getLogs', { address: chain.token, topics, fromBlock: '0x0' })) as {
    data: string
    transactionHash: string
  }[]
  return logs.map(({ data, transactionHash }) => ({ amount: BigInt(data), txHash: transactionHash }))
}

/** The call of the token that carries out a proof. */
export function carryOutCall({ authorization, signature }: Proof): string {
  const { payer, recipient, value, validAfter, validBefore, nonce } = authorization
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
  const words = [word(payer), word(recipient), word(value), word(validAfter), word(validBefore), nonce.slice(2)]
  // transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)
  return `0xe3ee160e${words.join('')}${v.padStart(64, '0')}${r}${s}`
}

/** Gives an address tokens of the test chain. */
export async function mint(
  chain: Pick<TestChain, 'rpc' | 'send' | 'token'>,
  address: string,
  tokens: bigint,
): Promise<void> {
  const data = transferCall(address, tokens).replace('0xa9059cbb', '0x40c10f19')
  const hash = await chain.send({ from: TOKEN_OWNER, to: chain.token, data })
  await eventually(async () => (await chain.rpc('eth_getTransactionReceipt', hash)) !== null, 'the tokens are there')
}

/** Signs a payment as a client of its version would. */
export async function signed(
  chain: Pick<TestChain, 'token' | 'recipient'>,
  clock: Clock,
  wanted: Partial<Signed> & { wallet: PrivateKeyAccount },
): Promise<Proof> {
  const version = wanted.version ?? 2
  const now = BigInt(Math.floor(clock.now().getTime() / 1000))
  const authorization: Authorization = {
    payer: wanted.wallet.address.toLowerCase(),
    recipient: (wanted.to ?? chain.recipient).toLowerCase(),
    value: wanted.amount ?? 1_000_000n,
    validAfter: wanted.validAfter ?? (version === 2 ? 0n : now - 600n),
    validBefore: wanted.validBefore ?? now + 300n,
    nonce: wanted.nonce ?? `0x${randomBytes(32).toString('hex')}`,
  }
  const chainId = wanted.chainId ?? (version === 1 ? 84_532 : 31_337)
  const token = wanted.token ?? chain.token
  const signature = await signAuthorization(wanted.wallet, authorization, {
    name: 'USD Coin',
    version: '2',
    chainId,
    token,
  })
  return proofOf(chain, version, authorization, signature)
}

/** A proof of these parts, as a client of the version would send it. */
export function proofOf(
  chain: Pick<TestChain, 'token' | 'recipient'>,
  version: 1 | 2,
  authorization: Authorization,
  signature: string,
): Proof {
  const { payer: from, recipient: to, nonce } = authorization
  const [value, validAfter, validBefore] = [
    authorization.value,
    authorization.validAfter,
    authorization.validBefore,
  ].map(String)
  const inner = { signature, authorization: { from, to, value, validAfter, validBefore, nonce } }
  const accepted = {
    scheme: 'exact',
    network: 'eip155:31337',
    amount: value,
    asset: chain.token,
    payTo: chain.recipient,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  }
  const payload =
    version === 2
      ? { x402Version: 2, accepted, payload: inner }
      : { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: inner }
  return { version, authorization, signature, payload, headers: headerOf(version, payload) }
}

/** The header of a payload. */
export function headerOf(version: 1 | 2, payload: unknown): Record<string, string> {
  const text = Buffer.from(JSON.stringify(payload)).toString('base64')
  return version === 2 ? { 'PAYMENT-SIGNATURE': text } : { 'X-PAYMENT': text }
}
