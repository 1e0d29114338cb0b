import type { RawEnvironment } from './environment.ts'
import { readSecret } from './environment.ts'
import type { CheckedFile } from './file.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'
import { isWellKnownKey } from './well-known-keys.ts'

/** How top-ups by x402 are taken. Amounts are micro units of the asset. */
export interface X402Config {
  /** One of the accepted assets. */
  readonly asset: string
  /** undefined: the asset's recipient. */
  readonly payTo: string | undefined
  readonly minAmountMicro: bigint
  readonly maxAmountMicro: bigint
  readonly confirmations: number
  readonly gasPriceMaxGwei: number
  readonly gasAlarmPayments: number
  readonly paymentsPerMinutePerPayer: number
  /** Without a trailing slash; undefined: the relayer sends. */
  readonly facilitatorUrl: string | undefined
  /** How long the facilitator may take. */
  readonly facilitatorLimits: { readonly verifyMs: number; readonly settleMs: number } | undefined
}

/** The settings of x402 as far as the file has them, the key of its facilitator, and what is wrong with them. */
export function readX402(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): { settings: X402Config | undefined; facilitatorKey: string | undefined; problems: readonly Problem[] } {
  const { x402, assets } = file.content.payments
  if (x402 === undefined) return { settings: undefined, facilitatorKey: undefined, problems: [] }
  const problems: Problem[] = []
  const { facilitator } = x402
  if (!Object.hasOwn(assets, x402.asset))
    problems.push({
      where: file.place(x402, 'asset'),
      problem: `\`${x402.asset}\` is not among the accepted assets.`,
      fix: 'Name one of `payments.assets`.',
    })
  if (x402.min_amount_micro > x402.max_amount_micro)
    problems.push({
      where: file.place(x402, 'min_amount_micro'),
      problem: 'The smallest amount is larger than the largest.',
      fix: 'Lower it, or raise `max_amount_micro`.',
    })
  let facilitatorKey: string | undefined
  if (facilitator?.api_key_env !== undefined) {
    const found = readSecret(raw, readFile, facilitator.api_key_env)
    if ('problem' in found) problems.push(found)
    else if (found.value) facilitatorKey = found.value
    else
      problems.push({
        where: file.place(facilitator, 'api_key_env'),
        problem: `\`${facilitator.api_key_env}\` is not set.`,
        fix: `Set ${facilitator.api_key_env} or ${facilitator.api_key_env}_FILE, or leave \`api_key_env\` out.`,
      })
  }
  const settings = {
    asset: x402.asset,
    payTo: x402.pay_to,
    minAmountMicro: BigInt(x402.min_amount_micro),
    maxAmountMicro: BigInt(x402.max_amount_micro),
    confirmations: x402.confirmations,
    gasPriceMaxGwei: x402.gas_price_max_gwei,
    gasAlarmPayments: x402.gas_alarm_payments,
    paymentsPerMinutePerPayer: x402.payments_per_minute_per_payer,
    facilitatorUrl: facilitator?.url.replace(/\/+$/, ''),
    facilitatorLimits: facilitator && {
      verifyMs: facilitator.verify_timeout_ms,
      settleMs: facilitator.settle_timeout_ms,
    },
  }
  return { settings, facilitatorKey, problems }
}

/** What keeps a public server from sending with this private key: none where one is needed, or one that everybody knows. */
export function relayerProblems(file: CheckedFile, relayerKey: string | undefined): Problem[] {
  const where = 'FAREBOX_RELAYER_KEY'
  const { x402 } = file.content.payments
  if (relayerKey === undefined)
    return x402 && !x402.facilitator
      ? [
          {
            where,
            problem: 'It is not set, and the file has `payments.x402` without a facilitator.',
            fix: 'Set it, or FAREBOX_RELAYER_KEY_FILE, to the private key of an account of its own with a little gas money.',
          },
        ]
      : []
  if (!isWellKnownKey(relayerKey)) return []
  const problem = 'Everybody knows this key: it belongs to development chains.'
  return [{ where, problem, fix: 'Make a new one, for example with `openssl rand -hex 32`.' }]
}
