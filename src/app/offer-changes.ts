import type { CapabilityConfig, Operation } from '../config/capabilities.ts'
import type { Config } from '../config/config.ts'
import type { MediaPrice } from '../config/media-models.ts'
import type { ModelConfig, Price } from '../config/models.ts'

/**
 * What differs between two configurations, a line for each thing, for people: `+` is new, `-` is gone, `~` is
 * changed, `!` needs the operator. Empty when nothing differs that a running server can take over or should say.
 */
export function changesBetween(
  before: Config,
  after: Config,
  drifted: { readonly before: readonly string[]; readonly after: readonly string[] },
): string[] {
  return [
    ...compared(
      before.models,
      after.models,
      ({ id }) => id,
      'model',
      describeModel,
      (old, now) => modelChanges(old, now, describePrice),
    ),
    ...compared(
      before.mediaModels,
      after.mediaModels,
      ({ id }) => id,
      'model',
      ({ prices }) => prices.map(describeMediaPrice).join('; ') || 'without a price',
      (old, now) => modelChanges(old, now, describeMediaPrice),
    ),
    ...compared(
      before.capabilities,
      after.capabilities,
      ({ slug }) => slug,
      'capability',
      describeVersions,
      capabilityChanges,
    ),
    ...providerChanges(before, after),
    ...otherSections(before, after),
    ...drifted.before
      .filter((version) => !drifted.after.includes(version))
      .map((version) => `~ capability ${version} differs no more from what was frozen`),
    ...drifted.after.map(
      (version) => `! capability ${version} differs from what was frozen: its calls are refused until it is mended`,
    ),
  ]
}

/** Two lists as what was added, removed and changed, by their names. */
function compared<T>(
  before: readonly T[],
  after: readonly T[],
  nameOf: (item: T) => string,
  what: string,
  describe: (item: T) => string,
  changes: (before: T, after: T) => string[],
): string[] {
  const old = new Map(before.map((item) => [nameOf(item), item]))
  const now = new Map(after.map((item) => [nameOf(item), item]))
  return [
    ...[...old.keys()].filter((name) => !now.has(name)).map((name) => `- ${what} ${name}`),
    ...[...now].flatMap(([name, item]) => {
      const known = old.get(name)
      if (known === undefined) return [`+ ${what} ${name}: ${describe(item)}`]
      return changes(known, item).map(
        (line) => `${line.startsWith('!') ? '!' : '~'} ${what} ${name}: ${line.replace(/^! ?/, '')}`,
      )
    }),
  ]
}

const describeModel = ({ prices }: ModelConfig): string => prices.map(describePrice).join('; ') || 'without a price'

const describePrice = ({
  version,
  effectiveFrom,
  inputMicroPerM,
  cachedInputMicroPerM,
  outputMicroPerM,
}: Price): string =>
  `price version ${version} from ${effectiveFrom.toISOString()}: ${inputMicroPerM} in, ${cachedInputMicroPerM} cached, ${outputMicroPerM} out (microcredits per million tokens)`

const describeMediaPrice = ({ version, effectiveFrom, unit, unitMicro, tiers }: MediaPrice): string =>
  `price version ${version} from ${effectiveFrom.toISOString()}: ${[
    ...tiers.map((tier) => `${tier.unitMicro} for ${tierName(tier)}`),
    unitMicro,
  ].join(', ')} for each ${unit} (microcredits)`

const tierName = ({ size, resolution, quality }: MediaPrice['tiers'][number]): string =>
  [size, resolution, quality].filter((field) => field !== undefined).join(' ')

function modelChanges<P extends { readonly version: number }>(
  before: { readonly prices: readonly P[] },
  after: { readonly prices: readonly P[] },
  describe: (price: P) => string,
): string[] {
  const { prices: oldPrices, ...old } = before
  const { prices: newPrices, ...now } = after
  const versions = new Map(oldPrices.map((price) => [price.version, price]))
  return [
    ...fieldChanges(old, now),
    ...oldPrices
      .filter(({ version }) => !newPrices.some((price) => price.version === version))
      .map(({ version }) => `price version ${version} is gone`),
    ...newPrices.flatMap((price) => {
      const known = versions.get(price.version)
      if (known === undefined) return [`new ${describe(price)}`]
      if (same(known, price)) return []
      return [`! ${describe(price)}, changed in place from ${describe(known)}: add a version instead`]
    }),
  ]
}

const describeVersions = ({ versions }: CapabilityConfig): string =>
  versions
    .map(({ version, operations }) => `${version} (${operations.map(describeOperation).join(', ')}; microcredits)`)
    .join('; ')

function describeOperation({ slug, price }: Operation): string {
  if (price.micro === 0n) return `${slug} free`
  if (price.kind === 'fixed') return `${slug} ${price.micro} for each call`
  const counted = price.kind === 'input_units' ? 'of the input' : 'of the answer'
  return `${slug} ${price.micro} for each ${price.unit} ${counted}, at most ${price.unitsMax}`
}

function capabilityChanges(before: CapabilityConfig, after: CapabilityConfig): string[] {
  const { versions: oldVersions, ...old } = before
  const { versions: newVersions, ...now } = after
  return [
    ...fieldChanges(old, now),
    ...oldVersions
      .filter(({ version }) => !newVersions.some((kept) => kept.version === version))
      .map(({ version }) =>
        after.withdrawnVersions.includes(version)
          ? `version ${version} is withdrawn`
          : `version ${version} left the file and is served as it was frozen`,
      ),
    ...newVersions
      .filter(({ version }) => !oldVersions.some((known) => known.version === version))
      .map((version) => `new version ${describeVersions({ ...after, versions: [version] })}`),
  ]
}

/** Providers keep their sockets: what is wired otherwise is only so after a start. */
function providerChanges({ providers: before }: Config, { providers: after }: Config): string[] {
  return Object.entries(after).flatMap(([name, provider]) => {
    const known = before[name]
    if (known === undefined)
      return [
        provider.kind === 'task-api'
          ? `! provider ${name} is new: it is used from the next start on`
          : `+ provider ${name}`,
      ]
    return same(known, provider) ? [] : [`! provider ${name} changed: that takes effect at the next start`]
  })
}

/** What only a start reads. The development economy adds to these by itself, so there they say nothing. */
function otherSections(before: Config, after: Config): string[] {
  if (after.mode === 'development') return []
  return (['payments', 'oidc', 'mcp', 'limits'] as const)
    .filter((section) => !same(before[section], after[section]))
    .map((section) => `! ${section} changed: that takes effect at the next start`)
}

function fieldChanges(before: object, after: object): string[] {
  const old = new Map<string, unknown>(Object.entries(before))
  return Object.entries(after)
    .filter(([name, value]) => !same(old.get(name), value))
    .map(([name, value]) => `${inWords(name)} ${written(old.get(name))} -> ${written(value)}`)
}

const VALUE_LENGTH_MAX = 120

function written(value: unknown): string {
  const text = json(value)
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
}

const inWords = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const same = (a: unknown, b: unknown): boolean => json(a) === json(b)
const json = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member)) ?? 'not set'
