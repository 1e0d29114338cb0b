import { isMap, LineCounter, type Node, parseDocument } from 'yaml'
import { check, entriesOf, isBroken, offsetOf, type Report, type Walk } from './check.ts'
import type { Problem } from './problem.ts'
import { ConfigurationFile } from './schema.ts'
import type { SchemaNode } from './schema-node.ts'

/** A configuration file after its form was checked. */
export interface CheckedFile {
  /** Its content with defaults filled in; providers, models and prices that have problems are left out. */
  readonly content: ConfigurationFile
  /** The names of all providers, of those left out too. */
  readonly providerNames: readonly string[]
  /** Everything that is wrong with its form. */
  readonly problems: readonly Problem[]
  /** `file:line` of an object of the content, or of one of its keys. */
  place(object: object, key?: string): string
}

/** Parses a configuration file and checks its form: keys, types and bounds. `name` is how problems call the file. */
export function readConfigurationFile(text: string, name: string): CheckedFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => `${name}:${lines.linePos(offset).line}`
  const problems: Problem[] = []
  const report: Report = (offset, problem, fix) => {
    const where = at(offset)
    if (!problems.some((known) => known.where === where && known.problem === problem))
      problems.push({ where, problem, fix })
  }
  for (const error of document.errors) report(error.pos[0], `This is not YAML: ${error.message}.`, 'Correct it.')

  const walk: Walk = { document, report, origins: new WeakMap() }
  const root = document.contents ?? undefined
  const value = check(walk, ConfigurationFile as SchemaNode, root as Node | undefined, undefined)

  return {
    content: usable(value),
    providerNames: providerNames(walk, root as Node | undefined),
    problems,
    place(object, key) {
      const node = walk.origins.get(object)
      const entry =
        isMap(node) && key !== undefined ? entriesOf(walk, node).find((candidate) => candidate.key === key) : undefined
      return at(offsetOf(entry?.keyNode ?? node))
    },
  }
}

/** What can be used of a file that may have problems, so that the rules can still look at the rest. */
function usable(value: unknown): ConfigurationFile {
  const top: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {}
  const part = (key: string, otherwise: unknown) =>
    top[key] === undefined || isBroken(top[key]) ? otherwise : top[key]
  // check() returned these in the form of the schema, or they are replaced here.
  return {
    allow_demo: part('allow_demo', false),
    providers: part('providers', {}),
    models: part('models', []),
    capabilities: part('capabilities', []),
    mcp: part('mcp', { allowed_hosts: [], allowed_origins: [] }),
    media_models: part('media_models', []),
    payments: part('payments', { assets: {} }),
    oidc: part('oidc', { providers: {}, require_invitation: false }),
    credits: part('credits', { balance_low_micro: 0 }),
    results: part('results', { keep_days: 1, image_bytes_max: 1, video_bytes_max: 1, fetch_timeout_ms: 1 }),
    outgoing: part('outgoing', {}),
    limits: part('limits', {
      queue_operations_max: 1,
      body_bytes: 1,
      chat_body_bytes: 1,
      media_body_bytes: 1,
      concurrent_tasks: 1,
    }),
  } as ConfigurationFile
}

function providerNames(walk: Walk, root: Node | undefined): string[] {
  if (!isMap(root)) return []
  const providers = entriesOf(walk, root).find(({ key }) => key === 'providers')?.value
  return isMap(providers) ? entriesOf(walk, providers).map(({ key }) => key) : []
}
