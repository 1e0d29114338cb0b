import { recoverMessageAddress } from 'viem/utils'

/** Half the order of secp256k1: of a signature and its mirror image only the one with the smaller s counts (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const SHAPE = /^(?:0x)?([0-9a-f]{64})([0-9a-f]{64})([0-9a-f]{2})$/i
/** The recovery byte as wallets write it: 27 or 28, some 0 or 1. */
const recoveryBytes: Readonly<Record<string, string>> = {
  '00': '1b',
  '01': '1c',
  '1b': '1b',
  '1c': '1c',
}

/**
 * The lower-case address of the ordinary wallet that signed this text by EIP-191; undefined for whatever is no such
 * signature. 65 bytes as hex, with or without 0x. Contract wallets have no such signature.
 */
export async function signerOf(message: string, signature: string): Promise<string | undefined> {
  const [, r = '', s = '', v = ''] = SHAPE.exec(signature) ?? []
  const recovery = recoveryBytes[v.toLowerCase()]
  if (recovery === undefined || BigInt(`0x${s}`) > HALF_ORDER) return undefined
  try {
    return (await recoverMessageAddress({ message, signature: `0x${r}${s}${recovery}` })).toLowerCase()
  } catch {
    // r or s is zero or no point of the curve
    return undefined
  }
}
