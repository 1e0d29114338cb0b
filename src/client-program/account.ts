import { fields, table } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { asUser, connect, explained } from './client.ts'
import { credits, moment } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox balance|models`. */
export const accountCommands: AddClientCommands = (program, here) => {
  withOutput(
    program.command('balance').description('show the Credits that this login can spend, and the limit that binds'),
  ).action((options: OutputOptions) => balance(here, options))
  withOutput(program.command('models').description('list the models with their prices; needs no login')).action(
    (options: OutputOptions) => models(here, options),
  )
}

async function balance(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  await asUser(here, 'reading the balance', async ({ client }) => {
    const data = await client.credits.balance()
    const { budget } = data
    const summary = fields([
      ['available', `${credits(data.available_micro)} Credits`],
      ['held', `${credits(data.held_micro)} Credits`],
      [
        'limit',
        budget
          ? `${budget.limit.replace('_', ' ')} budget of the ${budget.scope}: ${credits(budget.remaining_micro)} left of ${credits(budget.limit_micro)} Credits`
          : undefined,
      ],
    ])
    const rows = data.buckets.map((bucket) => [
      bucket.kind,
      credits(bucket.available_micro),
      credits(bucket.held_micro),
      moment(bucket.expires_at),
    ])
    const buckets = table(['CREDITS', 'AVAILABLE', 'HELD', 'EXPIRES'], rows, ['AVAILABLE', 'HELD'])
    const none = 'There are no Credits yet: run `farebox topup`, or ask your owner.'
    show(here, options, { data, text: `${summary}\n\n${rows.length === 0 ? none : buckets}` })
  })
}

async function models(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  const { client, server } = connect(here)
  const data = await withProgress(here, 'reading the models', () => explained({ server }, () => client.models()))
  const rows = data.data.map(({ id, name, modalities, pricing, enabled }) => [
    id,
    name,
    modalities.join(', '),
    priceText(pricing),
    enabled ? 'yes' : 'no',
  ])
  const text = table(['MODEL', 'NAME', 'MAKES', 'PRICE IN CREDITS', 'ENABLED'], rows)
  show(here, options, { data, text: rows.length === 0 ? 'This server sells no models yet.' : text })
}

interface Pricing {
  readonly input_micro_per_m: number
  readonly output_micro_per_m: number
  readonly unit_price_micro: number | null
  readonly unit: string
}

function priceText({ input_micro_per_m, output_micro_per_m, unit_price_micro, unit }: Pricing): string {
  if (unit_price_micro !== null) return `${credits(unit_price_micro)} per ${unit}`
  return `${credits(input_micro_per_m)} in, ${credits(output_micro_per_m)} out per million tokens`
}
