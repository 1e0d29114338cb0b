import type { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { accountCommands } from './account.ts'
import { agentsCommands } from './agents.ts'
import { callsCommands } from './calls.ts'
import { chatCommands } from './chat.ts'
import { imageCommands } from './image.ts'
import { keysCommands } from './keys.ts'
import { loginCommands } from './login.ts'
import { ordersCommands } from './orders.ts'
import { refundsCommands } from './refunds.ts'
import { settlementsCommands } from './settlements.ts'
import type { AddClientCommands, ClientTerminal } from './surroundings.ts'
import { topupCommands } from './topup.ts'

const all: readonly AddClientCommands[] = [
  loginCommands,
  accountCommands,
  chatCommands,
  imageCommands,
  topupCommands,
  ordersCommands,
  keysCommands,
  agentsCommands,
  callsCommands,
  refundsCommands,
  settlementsCommands,
]

/** What users type first. */
const names = new Set([
  ...['login', 'logout', 'whoami', 'balance', 'models', 'chat', 'image', 'topup'],
  ...['orders', 'keys', 'agents', 'calls', 'usage', 'refunds', 'settlements'],
])

/** Whether this is a command for users, which needs nothing of the server's program. */
export const isClientCommand = (name: string | undefined): boolean => name !== undefined && names.has(name)

/**
 * The commands for users of a server, over its API. Their nouns are plural (`keys`, `refunds`), those of the operator,
 * on the database, singular (`key`, `refund`).
 */
export function clientCommands(terminal: ClientTerminal): (program: Command, around: ProgramSurroundings) => void {
  return (program, around) => {
    program.commandsGroup('For users, at a server:')
    for (const add of all) add(program, { ...around, ...terminal })
    // who types the one and means the other is told
    for (const command of program.commands.filter((command) => names.has(`${command.name()}s`)))
      command.addHelpText(
        'after',
        `\nThis is for the operator. Your own, as a user of a server: farebox ${command.name()}s`,
      )
  }
}
