import type { Hex, PrivateKeyAccount } from 'viem'
import { encodeFunctionData, hashStruct, recoverTypedDataAddress } from 'viem/utils'

/** A token transfer that its payer signed and anybody may send (EIP-3009). Addresses and nonce lower case, times Unix seconds. */
export interface Authorization {
  readonly payer: string
  readonly recipient: string
  /** In the token's smallest unit. */
  readonly value: bigint
  /** Valid in blocks whose time is above this and below the other. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes that the payer uses once. */
  readonly nonce: string
}

/** The EIP-712 domain that a signature names. */
export interface SigningDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly token: string
}

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

const abi = [
  {
    type: 'function',
    name: 'transferWithAuthorization',
    stateMutability: 'nonpayable',
    inputs: [
      ...types.TransferWithAuthorization,
      { name: 'v', type: 'uint8' },
      { name: 'r', type: 'bytes32' },
      { name: 's', type: 'bytes32' },
    ],
    outputs: [],
  },
] as const

/** Half the curve's order: a signature has a twin with the larger s, and tokens refuse it. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const WORD_DIGITS = 64

/** Who signed, in lower case; undefined when that is no canonical 65-byte signature. */
export async function signerOf(
  authorization: Authorization,
  signature: string,
  domain: SigningDomain,
): Promise<string | undefined> {
  const parts = partsOf(signature)
  if (!parts || BigInt(parts.s) > S_MAX || (parts.v !== 27 && parts.v !== 28)) return undefined
  try {
    const signer = await recoverTypedDataAddress({
      ...typedData(authorization, domain),
      signature: `${parts.r}${parts.s.slice(2)}${parts.v.toString(16)}`,
    })
    return signer.toLowerCase()
  } catch {
    return undefined
  }
}

/** Signs an authorization: what a paying wallet does. */
export function signAuthorization(
  wallet: Pick<PrivateKeyAccount, 'signTypedData'>,
  authorization: Authorization,
  domain: SigningDomain,
): Promise<Hex> {
  return wallet.signTypedData(typedData(authorization, domain))
}

/** The call of the token that carries an authorization out. */
export function transferCall(authorization: Authorization, signature: string): Hex {
  const { payer, recipient, value, validAfter, validBefore, nonce } = authorization
  const parts = partsOf(signature)
  if (!parts) throw new RangeError('a signature has 65 bytes')
  const { v, r, s } = parts
  return encodeFunctionData({
    abi,
    args: [payer as Hex, recipient as Hex, value, validAfter, validBefore, nonce as Hex, v, r, s],
  })
}

/** What a token's DOMAIN_SEPARATOR must be for signatures of this domain. */
export function domainSeparator(domain: SigningDomain): string {
  return hashStruct({
    data: { ...typedDomain(domain), chainId: BigInt(domain.chainId) },
    primaryType: 'EIP712Domain',
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
    },
  })
}

function typedData({ payer, recipient, ...rest }: Authorization, domain: SigningDomain) {
  return {
    domain: typedDomain(domain),
    types,
    primaryType: 'TransferWithAuthorization',
    message: { ...rest, from: payer as Hex, to: recipient as Hex, nonce: rest.nonce as Hex },
  } as const
}

function typedDomain({ name, version, chainId, token }: SigningDomain) {
  return { name, version, chainId, verifyingContract: token as Hex }
}

/** r, s and v; some wallets write v as 0 or 1. */
function partsOf(signature: string): { r: Hex; s: Hex; v: number } | undefined {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return undefined
  const v = Number.parseInt(signature.slice(2 + 2 * WORD_DIGITS), 16)
  return {
    r: `0x${signature.slice(2, 2 + WORD_DIGITS)}`,
    s: `0x${signature.slice(2 + WORD_DIGITS, 2 + 2 * WORD_DIGITS)}`,
    v: v < 2 ? v + 27 : v,
  }
}
