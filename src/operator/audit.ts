import { auditLedger } from '../ledger/audit.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { print, table } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

/** `farebox audit`: derives every balance again from the rows that never change. */
export const auditCommands: AddCommands = (program, around) => {
  withJson(
    program
      .command('audit')
      .description('derive every balance again and list what differs; exit code 1 when anything does'),
  ).action(async (options: { json?: boolean }) => {
    const findings = await withDatabase(around, 'auditing the ledger', ({ db }) => auditLedger(db))
    const rows = findings.map((finding) => [finding.check_name, finding.subject, finding.expected, finding.found])
    print(around, options, {
      data: { findings },
      text:
        findings.length === 0
          ? 'The ledger is in order: every balance follows from its rows.'
          : table(['CHECK', 'SUBJECT', 'EXPECTED', 'FOUND'], rows),
    })
    if (findings.length > 0) {
      throw new ProgramFault(
        exitCodes.failed,
        `${findings.length} of the ledger's numbers differ. Stop granting and resolving, keep this output, and find the cause before anything is corrected.`,
      )
    }
  })
}
