import { renderUnicodeCompact } from 'uqr'
import type { Account, DeviceCode } from '../../sdk/src/index.ts'
import { withProgress } from '../terminal/progress.ts'
import { type Connection, explained } from './client.ts'
import { type ClientSurroundings, isForPrograms, type OutputOptions } from './surroundings.ts'

/**
 * Has an owner approve this login in the console: shows where and by which code, on stderr for people and as an event on
 * stdout for programs, and waits for the decision. The device code is the SDK's secret and never shown.
 */
export async function loginByDevice(
  here: ClientSurroundings,
  options: OutputOptions,
  connection: Connection,
): Promise<Account> {
  const onCode = (code: DeviceCode): void => {
    if (isForPrograms(here, options)) here.write(`${JSON.stringify(eventOf(code))}\n`)
    else here.writeError(invitation(here, code))
  }
  const { account } = await withProgress(here, 'waiting for the approval', () =>
    explained(connection, () =>
      connection.client.auth.signInByDevice({ clientName: `farebox on ${here.host}`, onCode }),
    ),
  )
  return account
}

const eventOf = (code: DeviceCode) => ({
  event: 'code',
  user_code: code.userCode,
  verification_uri: code.verificationUri,
  verification_uri_complete: code.verificationUriComplete,
  expires_at: new Date(code.expiresAt).toISOString(),
})

function invitation(here: ClientSurroundings, code: DeviceCode): string {
  const [address, whole, userCode] = [code.verificationUri, code.verificationUriComplete, code.userCode].map(readable)
  const minutes = Math.round((code.expiresAt - here.clock.now().getTime()) / 60_000)
  const lines = [
    'To log in as an owner, open',
    '',
    `    ${whole}`,
    '',
    `and approve the code  ${userCode}  within ${minutes} minutes. On another device, open ${address}`,
    here.stdoutIsTerminal ? `and type it, or scan this:\n\n${qrCode(code.verificationUriComplete)}\n` : 'and type it.',
  ]
  return `${lines.join('\n')}\n`
}

/** Black on white whatever the terminal's colours are: not every reader takes a QR code that is inverted. */
const qrCode = (text: string): string =>
  renderUnicodeCompact(text, { border: 2 })
    .split('\n')
    .map((line) => `\u001b[97;40m${line}\u001b[0m`)
    .join('\n')

/** The server's words, without what would steer the terminal. */
const readable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '?')
