import { MICROCREDITS_MAX } from '../kernel/money.ts'
import type { RawEnvironment } from './environment.ts'
import { compileSchema } from './json-schema.ts'
import { isPlainHttp } from './parsers.ts'
import { HEADER_REFUSED, namedSecret } from './providers.ts'
import type { ReadFile } from './read-file.ts'
import type { FileCapability, FileVersion } from './schema-capabilities.ts'
import { closestWord } from './suggestion.ts'

/** Told what is wrong with a key of an object of the file, and what to do about it. */
export type Refuse = (object: object, key: string, problem: string, fix: string) => void

/** The secret headers of a capability's upstream, from the environment; what is wrong with it goes to `refuse`. */
export function checkUpstream(
  { slug, upstream }: FileCapability,
  from: { raw: RawEnvironment; readFile: ReadFile },
  refuse: Refuse,
): Record<string, string> {
  const secrets: Record<string, string> = {}
  if (upstream.kind === 'demo') {
    // a made-up answer must never be sold under the name of a real service
    if (!slug.startsWith('demo'))
      refuse(
        upstream,
        'kind',
        'it is a demo, but its slug does not say so.',
        'Begin the slug with `demo`, or use kind `http`.',
      )
    return secrets
  }
  if (!URL.canParse(upstream.base_url) || !isPlainHttp(new URL(upstream.base_url)))
    refuse(upstream, 'base_url', 'this is no address.', 'Write it like `https://api.example.com`.')
  for (const header of Object.keys(upstream.headers))
    if (HEADER_REFUSED.test(header))
      refuse(
        upstream.headers,
        header,
        `the header \`${header}\` cannot be set here.`,
        'A secret belongs in `headers_env`.',
      )
  for (const [header, variable] of Object.entries(upstream.headers_env)) {
    if (CONNECTION_HEADER.test(header)) {
      refuse(upstream.headers_env, header, `the header \`${header}\` cannot be set.`, 'Remove it.')
      continue
    }
    const secret = namedSecret({ variable, ...from, pattern: /^[ -~]+$/, remove: 'the capability' }, (problem, fix) =>
      refuse(upstream.headers_env, header, problem, fix),
    )
    if (secret !== undefined) secrets[header.toLowerCase()] = secret
  }
  return secrets
}

const CONNECTION_HEADER =
  /^(host|connection|content-length|content-type|transfer-encoding|upgrade|te|trailer|expect|idempotency-key|x-request-id|x-farebox-.*)$/i

/** What a schema cannot state of a capability's versions. */
export function checkVersions(capability: FileCapability, refuse: Refuse): void {
  const known = capability.versions.map(({ version }) => version)
  for (const [index, version] of capability.versions.entries())
    if (known.indexOf(version.version) !== index)
      refuse(version, 'version', `version ${version.version} is there twice.`, 'Give each version its own name.')
  if (capability.default_version !== '' && !known.includes(capability.default_version)) {
    const meant = closestWord(capability.default_version, known)
    refuse(
      capability,
      'default_version',
      `there is no version ${capability.default_version}.`,
      meant === undefined ? 'Name one of `versions`.' : `Did you mean \`${meant}\`?`,
    )
  }
  const first = capability.default_version || known.at(-1)
  if (first !== undefined && capability.withdrawn_versions.includes(first))
    refuse(capability, 'withdrawn_versions', `the default version ${first} is withdrawn.`, 'Choose another default.')
}

/** What a schema cannot state of a version's operations: names, modes, prices, and whether their schemas are ones. */
export function checkOperations(version: FileVersion, refuse: Refuse): void {
  const known = version.operations.map(({ slug }) => slug)
  if (version.default_operation !== '' && !known.includes(version.default_operation))
    refuse(version, 'default_operation', `there is no operation ${version.default_operation}.`, 'Name one of them.')
  for (const [index, operation] of version.operations.entries()) {
    const place = `operation \`${operation.slug}\` of ${version.version}`
    if (known.indexOf(operation.slug) !== index)
      refuse(operation, 'slug', `${place} is there twice.`, 'Give each operation its own slug.')
    if (new Set(operation.modes).size !== operation.modes.length)
      refuse(operation, 'modes', `${place} names a mode twice.`, 'Name it once.')
    if (operation.modes.includes('async') && operation.price.micro === 0)
      refuse(operation, 'price', `${place} is asynchronous and free.`, 'Give it a price, or make it `sync`.')
    const { price } = operation
    if (price.kind !== 'fixed' && BigInt(price.micro) * BigInt(price.units_max) > MICROCREDITS_MAX)
      refuse(price, 'units_max', `${place} could hold more than any amount can be.`, 'Lower `units_max` or `micro`.')
    checkSchemas(operation, place, refuse)
  }
}

/** Names that mean something beside the input, in a query or in a tool's arguments. */
const RESERVED = { query: ['version', 'mode', 'webhook_url'], anywhere: ['idempotency_key'] }

function checkSchemas(operation: FileVersion['operations'][number], place: string, refuse: Refuse): void {
  for (const key of ['input_schema', 'output_schema'] as const) {
    const compiled = compileSchema(operation[key], 'exact')
    if ('problem' in compiled)
      refuse(operation, key, `${place}: ${key} is no JSON Schema 2020-12: ${compiled.problem}.`, 'Correct it.')
  }
  if (operation.input_schema.type !== 'object')
    refuse(operation, 'input_schema', `${place} takes no object.`, 'Begin its input_schema with `type: object`.')
  const { properties } = operation.input_schema
  const names = Object.keys(typeof properties === 'object' && properties !== null ? properties : {})
  const inQuery = operation.method === 'GET' || operation.method === 'DELETE'
  const reserved = [...RESERVED.anywhere, ...(inQuery ? RESERVED.query : [])]
  for (const name of names.filter((candidate) => reserved.includes(candidate)))
    refuse(operation, 'input_schema', `${place}: \`${name}\` is a name of our own.`, 'Call the field something else.')
}
