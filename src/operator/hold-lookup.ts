import type { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Config, Secrets } from '../config/config.ts'
import { costOf } from '../inference/chat/bounds.ts'
import { microcredits } from '../kernel/money.ts'
import { type CallIds, type LookedUp, lookUpUsage } from '../providers/openai-compatible/usage-lookup.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { amount, fields, print } from '../terminal/output.ts'
import { findHold } from './find-hold.ts'
import { withDatabase } from './session.ts'
import { readConfig } from './settings.ts'
import type { HoldRow } from './store/holds.ts'

const TIMEOUT_MS = 10_000

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
    const found = await ask(hold, readConfig(around, wiring.mode))
    const { provider, usage } = found
    const costMicro = costAt(hold, usage)
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

/** The providers that may have the call: the one it was sent to, or, where nobody lived to note that, those of its model. */
async function ask(
  hold: HoldRow,
  { config, secrets }: { config: Config; secrets: Secrets },
): Promise<{ provider: string } & Extract<LookedUp, { kind: 'found' }>> {
  const evidence = (hold.evidence ?? {}) as CallIds & { provider?: string }
  const model = config.models.find(({ id }) => id === hold.subject)
  const candidates =
    evidence.provider === undefined ? (model?.providers.map(({ provider }) => provider) ?? []) : [evidence.provider]
  const said: string[] = []
  for (const name of new Set(candidates)) {
    const provider = config.providers[name]
    if (provider?.kind !== 'openai-compatible' || !provider.usageLookup) continue
    const answer = await lookUpUsage(
      {
        ...provider,
        ...provider.usageLookup,
        name,
        apiKey: secrets.providerKeys[name],
        timeoutMs: TIMEOUT_MS,
      },
      { ...evidence, request_id: hold.request_id },
    )
    if (answer.kind === 'found') return { provider: name, ...answer }
    said.push(answer.message)
  }
  throw new ProgramFault(
    exitCodes.failed,
    said.length > 0
      ? said.join('\n')
      : `No provider that may have call ${hold.id} has usage_lookup in farebox.yaml. Look at its own pages for ${hold.request_id}.`,
  )
}

/** What the usage costs at the price that was kept with the hold. */
function costAt({ detail }: HoldRow, usage: Parameters<typeof costOf>[0]): bigint | undefined {
  const { price } = (detail ?? {}) as { price?: Record<string, unknown> }
  const { input_micro_per_m: input, output_micro_per_m: output, cached_input_micro_per_m: cached } = price ?? {}
  if (typeof input !== 'number' || typeof output !== 'number' || typeof cached !== 'number') return undefined
  return costOf(usage, {
    inputMicroPerM: microcredits(input),
    outputMicroPerM: microcredits(output),
    cachedInputMicroPerM: microcredits(cached),
  })
}
