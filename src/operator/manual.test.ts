import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { systemClock } from '../kernel/clock.ts'
import { operatorCommands } from './commands.ts'

const program = new Command('farebox')
for (const add of operatorCommands({ readLine: async () => '', interactive: false })) {
  // commands only look at their surroundings when they run; expiries take the clock
  add(program, { clock: systemClock } as ProgramSurroundings)
}

/** Commands that do something, by what is typed to reach them. */
function leaves(command: Command, path: string): Array<readonly [string, Command]> {
  if (command.commands.length === 0) return [[path, command]]
  return command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`))
}

const manual = readFileSync(new URL('../../docs/operator.md', import.meta.url), 'utf8')
const sections = new Map(
  manual
    .split(/^#{2,3} /m)
    .map((section) => [/^`(farebox [^`]+)`/.exec(section)?.[1] ?? '', section] as const)
    .filter(([name]) => name !== ''),
)
const commands = new Map(leaves(program, 'farebox'))

test('docs/operator.md has a section for each command, and none for what is not there', () => {
  expect([...sections.keys()].sort()).toEqual([...commands.keys()].sort())
})

test('each section names every option of its command, no other, and has an example of it', () => {
  for (const [name, command] of commands) {
    const section = sections.get(name) ?? ''
    const prose = section.replace(/^```.*?^```/gms, '')
    const named = new Set(prose.match(/(?<=[`\s(])--[a-z][a-z-]*/g))
    const options = command.options.map((option) => option.long ?? '')
    expect([...named].sort(), name).toEqual([...options].sort())
    expect(section, name).toContain(`$ ${name}`)
  }
})
