import { readFileSync, statSync } from 'node:fs'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import type { ClientSurroundings } from './surroundings.ts'

const KEY = /^(0x)?[0-9a-f]{64}$/i

/** The wallet of a key file: 64 hexadecimal digits, with or without 0x. Warns when others can read it. The key is never shown. */
export function walletOf(here: Pick<ClientSurroundings, 'writeError'>, path: string): PrivateKeyAccount {
  if (KEY.test(path))
    throw new ProgramFault(
      exitCodes.usage,
      'That is a private key, not the path of a file with one. It is in your shell history now: move its funds to another wallet.',
    )
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      here.writeError(`Others can read ${path}. Run \`chmod 600 ${path}\`.\n`)
  } catch (error) {
    throw new ProgramFault(
      exitCodes.usage,
      `The key file ${path} cannot be read (${(error as { code?: string }).code}).`,
    )
  }
  if (!KEY.test(text))
    throw new ProgramFault(
      exitCodes.usage,
      `${path} holds no private key: one is 64 hexadecimal digits, and nothing else.`,
    )
  try {
    return privateKeyToAccount(`0x${text.replace(/^0x/i, '')}`)
  } catch {
    throw new ProgramFault(exitCodes.usage, `${path} holds no private key: this number is not one of the curve.`)
  }
}
