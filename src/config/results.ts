import type { RawEnvironment } from './environment.ts'
import type { CheckedFile } from './file.ts'
import { networks } from './parsers.ts'
import type { Problem } from './problem.ts'
import { namedSecret } from './providers.ts'
import type { ReadFile } from './read-file.ts'

/** Requests to addresses that others choose. */
export interface OutgoingConfig {
  /** Networks in CIDR notation that may be asked although they are not public. */
  readonly allowedNetworks: readonly string[]
}

/** An S3-compatible service. Its keys are in Secrets.resultsKey. */
export interface S3Config {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
  readonly addressStyle: 'path' | 'host'
  readonly timeoutMs: number
}

/** Where pictures and films are kept, and how long. */
export interface ResultsConfig {
  readonly keepDays: number
  readonly imageBytesMax: number
  readonly videoBytesMax: number
  readonly fetchTimeoutMs: number
  /** undefined: the data folder. */
  readonly s3: S3Config | undefined
}

/** What signs requests to the S3-compatible service. */
export interface AccessKey {
  readonly id: string
  readonly secret: string
}

/** What a developer's own machine may ask: itself. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** The settings of outgoing requests and of results, and what is wrong with them. */
export function readResults(
  file: CheckedFile,
  raw: RawEnvironment,
  { readFile, development }: { readFile: ReadFile; development: boolean },
): {
  outgoing: OutgoingConfig
  results: ResultsConfig
  accessKey: AccessKey | undefined
  problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const { outgoing, results } = file.content
  for (const network of outgoing.allowed_networks ?? []) {
    if (networks.parse(network) === undefined)
      problems.push({
        where: file.place(outgoing, 'allowed_networks'),
        problem: `\`${network}\` is no network.`,
        fix: 'Write it like `10.1.0.0/16`.',
      })
  }
  const { s3 } = results
  const secretOf = (key: 'access_key_id_env' | 'secret_access_key_env'): string | undefined =>
    s3 &&
    namedSecret({ variable: s3[key], raw, readFile, remove: 's3' }, (problem, fix) =>
      problems.push({ where: file.place(s3, key), problem: `results.s3: ${problem}`, fix }),
    )
  const [id, secret] = [secretOf('access_key_id_env'), secretOf('secret_access_key_env')]
  return {
    outgoing: { allowedNetworks: outgoing.allowed_networks ?? (development ? LOOPBACK : []) },
    results: {
      keepDays: results.keep_days,
      imageBytesMax: results.image_bytes_max,
      videoBytesMax: results.video_bytes_max,
      fetchTimeoutMs: results.fetch_timeout_ms,
      s3: s3 && {
        endpoint: s3.endpoint.replace(/\/+$/, ''),
        region: s3.region,
        bucket: s3.bucket,
        prefix: s3.prefix,
        addressStyle: s3.address_style,
        timeoutMs: s3.timeout_ms,
      },
    },
    accessKey: id !== undefined && secret !== undefined ? { id, secret } : undefined,
    problems,
  }
}
