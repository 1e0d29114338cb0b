import type { Environment } from './environment.ts'
import type { CheckedFile } from './file.ts'
import { isLoopback } from './parsers.ts'
import type { Problem } from './problem.ts'
import { relayerProblems } from './x402.ts'

/** The settings that are looked at together. */
interface Situation {
  readonly mode: 'development' | 'production'
  readonly host: string
  readonly environment: Environment
  readonly file: CheckedFile
  /** Where a problem is known already: a value that could not be read is not called missing too. */
  readonly mentioned: ReadonlySet<string>
}

/** Settings that are fine one by one and wrong together. */
export function contradictions({ mode, host, environment, file, mentioned }: Situation): Problem[] {
  const problems: Problem[] = []
  const refuse = (where: string, problem: string, fix: string) => {
    if (!mentioned.has(where) && !mentioned.has(`${where}_FILE`)) problems.push({ where, problem, fix })
  }
  const { PORT: port, FAREBOX_METRICS_PORT: metricsPort, FAREBOX_PUBLIC_URL: publicUrl } = environment
  if (metricsPort !== undefined && metricsPort === port) {
    refuse('FAREBOX_METRICS_PORT', `It is ${port}, like PORT.`, 'Take another port, or unset it.')
  }
  if (mode === 'development') {
    if (environment.NODE_ENV === 'production') {
      refuse(
        'NODE_ENV',
        'It is production, but this is the development economy with well-known keys.',
        'Run `farebox serve`, or unset NODE_ENV.',
      )
    }
    return problems
  }
  if (!isLoopback(host) && !publicUrl?.startsWith('https://')) {
    refuse(
      'FAREBOX_PUBLIC_URL',
      publicUrl === undefined ? 'It is not set.' : 'It is not https: keys would travel in the clear.',
      'Set the https:// address that clients use, or HOST=127.0.0.1 for this machine only.',
    )
  }
  if (environment.DATABASE_URL === undefined) {
    refuse(
      'DATABASE_URL',
      'It is not set.',
      'Set the address of a PostgreSQL database, or DATABASE_URL_FILE. The embedded one is for development.',
    )
  }
  if (environment.FAREBOX_KEY_PEPPER === undefined) {
    refuse(
      'FAREBOX_KEY_PEPPER',
      'It is not set.',
      'Set it once to the output of `openssl rand -hex 32`, or FAREBOX_KEY_PEPPER_FILE, and keep it.',
    )
  }
  for (const { where, problem, fix } of relayerProblems(file, environment.FAREBOX_RELAYER_KEY))
    refuse(where, problem, fix)
  if (!file.content.allow_demo) problems.push(...demoOffers(file))
  return problems
}

/** Demo providers and models: made-up answers that would be charged for. */
function demoOffers(file: CheckedFile): Problem[] {
  const fix = 'Remove it, or set `allow_demo: true`.'
  const { providers, models, media_models, capabilities } = file.content
  return [
    ...capabilities
      .filter((capability) => capability.enabled && capability.upstream.kind === 'demo')
      .map((capability) => ({
        where: file.place(capability, 'slug'),
        problem: `\`${capability.slug}\` is a demo capability.`,
        fix,
      })),
    ...Object.entries(providers)
      .filter(([, provider]) => provider.kind === 'demo')
      .map(([name, provider]) => ({
        where: file.place(provider, 'kind'),
        problem: `\`${name}\` is a demo provider.`,
        fix,
      })),
    ...[...models, ...media_models]
      .filter((model) => model.enabled && model.id.startsWith('demo'))
      .map((model) => ({
        where: file.place(model, 'id'),
        problem: `\`${model.id}\` is a demo model.`,
        fix,
      })),
  ]
}
