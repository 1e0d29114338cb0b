import { createReadStream } from 'node:fs'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { amount, print } from '../terminal/output.ts'
import { ExportCheck } from './export-check.ts'
import type { AddCommands } from './program.ts'

/** No line of an export is nearly as long: a file with longer ones is none. */
const LINE_LENGTH_MAX = 1_000_000

/** `farebox verify`: checks a file of `farebox export ledger` with nothing but the file. */
export const verifyCommands: AddCommands = (program, around) => {
  withJson(
    program
      .command('verify')
      .description('check an exported ledger, offline: chain, sums, balances, gaps; exit code 1 when anything is wrong')
      .argument('<file>', 'a file of farebox export ledger')
      .option('--hash <hex>', 'the hash of the chain, as it was noted when the file was written'),
  ).action(async (file: string, options: { hash?: string; json?: boolean }) => {
    const check = new ExportCheck()
    for await (const line of linesOf(file)) {
      check.line(line)
      if (check.isFull) break
    }
    const summary = check.isFull ? undefined : check.finish()
    if (summary && options.hash !== undefined && summary.hash !== options.hash.toLowerCase())
      check.flaws.push({
        line: 0,
        message: `the hash of the chain is ${summary.hash}: this is not the file it was noted for`,
      })
    const { flaws } = check
    print(around, options, {
      data: { ok: flaws.length === 0, ...summary, flaws },
      text:
        summary && flaws.length === 0
          ? `The file is whole: ${summary.movements} movements of ${summary.accounts} accounts from ${summary.from} to ${summary.to}.\nOpening ${amount(summary.openingMicro)}, closing ${amount(summary.closingMicro)}.\nHash of the chain: ${summary.hash}`
          : flaws.map(({ line, message }) => (line === 0 ? message : `line ${line} ${message}`)).join('\n'),
    })
    if (flaws.length > 0)
      throw new ProgramFault(
        exitCodes.failed,
        'The file is not what was exported. Export the same range again and compare.',
      )
  })
}

/** The lines of a file, as they are: only a line feed ends one. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = ''
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 262_144 })) {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > LINE_LENGTH_MAX) throw new ProgramFault(exitCodes.failed, 'That is no export: it has no lines.')
    }
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new ProgramFault(exitCodes.usage, `${path} cannot be read (${code}).`)
    throw error
  }
  if (rest !== '') yield rest
}
