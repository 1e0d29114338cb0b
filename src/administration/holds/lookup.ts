import type { Config, Secrets } from '../../config/config.ts'
import { costOf } from '../../inference/chat/bounds.ts'
import { Fault } from '../../kernel/errors.ts'
import { microcredits } from '../../kernel/money.ts'
import { type CallIds, type LookedUp, lookUpUsage } from '../../providers/openai-compatible/usage-lookup.ts'
import type { HoldRow } from './store.ts'

const TIMEOUT_MS = 10_000

/** What the records of providers are asked by. */
export interface LookupSettings {
  readonly config: Pick<Config, 'models' | 'providers'>
  readonly secrets: Pick<Secrets, 'providerKeys'>
}

/** What a provider's own record says that a call used. */
export interface FoundUsage {
  readonly provider: string
  readonly usage: Extract<LookedUp, { kind: 'found' }>['usage']
  /** At the price that was kept with the hold; undefined where none is kept. */
  readonly costMicro: bigint | undefined
}

/**
 * Asks the provider's own record what a call used. It decides nothing. Without evidence of who had the call, every
 * provider of its model is asked. Refuses with `usage_not_found`.
 */
export async function lookUpHold(hold: HoldRow, { config, secrets }: LookupSettings): Promise<FoundUsage> {
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
    if (answer.kind === 'found') return { provider: name, usage: answer.usage, costMicro: costAt(hold, answer.usage) }
    said.push(answer.message)
  }
  throw new Fault('usage_not_found', {
    message:
      said.length > 0
        ? said.join('\n')
        : `No provider that may have call ${hold.id} has usage_lookup in farebox.yaml. Look at its own pages for ${hold.request_id}.`,
  })
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
