import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { systemClock } from '../kernel/clock.ts'
import { clientCommands, isClientCommand } from './commands.ts'
import type { ClientTerminal } from './surroundings.ts'

const program = new Command('farebox')
// commands only look at their surroundings when they run; expiries take the clock
clientCommands({} as ClientTerminal)(program, { clock: systemClock } as ProgramSurroundings)

/** Commands that do something, by what is typed to reach them. */
function leaves(command: Command, path: string): Array<readonly [string, Command]> {
  if (command.commands.length === 0) return [[path, command]]
  return command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`))
}

const manual = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')
const sections = new Map(
  manual
    .split(/^#{2,3} /m)
    .map((section) => [/^`(farebox [^`]+)`/.exec(section)?.[1] ?? '', section] as const)
    .filter(([name]) => name !== ''),
)
const commands = new Map(leaves(program, 'farebox'))
const golden = ['terminal', 'pipe'].map((form) => readFileSync(new URL(`golden/${form}.txt`, import.meta.url), 'utf8'))

test('what users type first is known without reading the rest of the program', () => {
  const typed = program.commands.map((command) => command.name())
  expect(typed.filter((name) => !isClientCommand(name))).toEqual([])
  expect(['serve', 'dev', 'key', 'refund', '--help', undefined].filter(isClientCommand)).toEqual([])
})

test('docs/command-line.md has a section for each command, and none for what is not there', () => {
  expect([...sections.keys()].sort()).toEqual([...commands.keys()].sort())
})

test('each section names every option of its command, no other, and has an example of it', () => {
  for (const [name, command] of commands) {
    const section = sections.get(name) ?? ''
    const prose = section.replace(/^```.*?^```/gms, '')
    const named = new Set(prose.match(/(?<=[`\s(])--[a-z][a-z-]*/g))
    const options = command.options.map((option) => option.long ?? '')
    expect([...named].sort(), name).toEqual([...options].sort())
    expect(section, name).toContain(`$ ${name.replace(/ list$/, '')}`)
  }
})

test('each command is in both golden files', () => {
  for (const name of commands.keys())
    for (const text of golden) expect(text).toContain(`$ ${name.replace(/ list$/, '')}`)
})
