import type { Command } from 'commander'
import { lookUpHold } from '../administration/holds/lookup.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { amount, fields, print } from '../terminal/output.ts'
import { findHold } from './find-hold.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'
import { readConfig } from './settings.ts'

/** Adds `hold lookup`: what the provider's own record says that a call used. It decides nothing. */
export function holdLookupCommand(hold: Command, around: ProgramSurroundings): void {
  withJson(
    hold
      .command('lookup <hold>')
      .description("ask the provider's own record what a call of unknown cost used (usage_lookup in farebox.yaml)"),
  ).action((named: string, options: { json?: boolean }) => lookup(around, named, options))
}

async function lookup(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, "asking the provider's record", async ({ db, wiring }) => {
    const hold = await findHold(db, named)
    const asked = lookUpHold(hold, readConfig(around, wiring.mode))
    const { provider, usage, costMicro } = await refusedPlainly(asked, { usage_not_found: exitCodes.failed })
    print(around, options, {
      data: {
        hold_id: hold.id,
        provider,
        usage: {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cached_input_tokens: usage.cachedInputTokens,
        },
        cost_micro: costMicro ?? null,
      },
      text: `${fields([
        ['hold', String(hold.id)],
        ['provider', provider],
        ['input tokens', `${usage.inputTokens} (${usage.cachedInputTokens} cached)`],
        ['output tokens', String(usage.outputTokens)],
        ['cost', costMicro === undefined ? 'its price is not kept with the hold' : amount(costMicro)],
      ])}${costMicro === undefined ? '' : `\n\nNext: farebox hold resolve ${hold.id} --actual ${costMicro} --reason "record of ${provider}"`}`,
    })
  })
}
