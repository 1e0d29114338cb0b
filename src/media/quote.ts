import { type MediaModelConfig, mediaPriceInForce } from '../config/media-models.ts'
import { Fault } from '../kernel/errors.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { CheckWebhookUrl } from './request.ts'
import type { TaskPrice } from './tasks/price.ts'

/** Where models and the time come from, and which URLs are called. */
export interface QuoteDeps {
  readonly models: () => ReadonlyMap<string, MediaModelConfig>
  readonly now: () => Date
  readonly checkedWebhookUrl: CheckWebhookUrl
}

/** The model of this name that makes this. Refuses with `model_not_found`. */
export function modelFor(deps: QuoteDeps, type: 'image' | 'video', id: string): MediaModelConfig {
  const model = deps.models().get(id)
  if (!model?.enabled || model.type !== type)
    throw new Fault('model_not_found', {
      message: `There is no model ${JSON.stringify(id.slice(0, 100))} here that makes ${type === 'image' ? 'pictures' : 'films'}. GET /v1/models lists the models.`,
    })
  return model
}

/**
 * What this request costs with this model: the unit price of the first tier whose fields it all has, else the
 * version's own, times what it asks for. Refuses with `model_not_found` while the model has no price in force.
 */
export function quote(deps: QuoteDeps, model: MediaModelConfig, request: JsonObject): TaskPrice {
  const price = mediaPriceInForce(model, deps.now())
  if (!price) throw new Fault('model_not_found')
  const tier = price.tiers.find((candidate) =>
    (['size', 'resolution', 'quality'] as const).every(
      (field) => candidate[field] === undefined || isSame(candidate[field], request[field]),
    ),
  )
  return {
    version: price.version,
    unit: price.unit,
    unitMicro: tier?.unitMicro ?? price.unitMicro,
    units: price.unit === 'image' ? Number(request.n ?? 1) : price.unit === 'second' ? Number(request.duration) : 1,
  }
}

/** `4k` is `4K`: a client must not pay less for another spelling. */
const isSame = (wanted: string, given: unknown): boolean =>
  typeof given === 'string' && given.trim().toLowerCase() === wanted.toLowerCase()

/** Refuses other words for what is paid by: a provider might know them. */
export function refuseOtherWords(request: JsonObject, field: string, others: readonly string[]): void {
  const used = Object.keys(request).find((name) => others.includes(name.toLowerCase()))
  if (used !== undefined)
    throw new Fault('invalid_field', {
      message: `The field ${used.slice(0, 64)} is called ${field} here.`,
      fields: { field: used.slice(0, 64) },
    })
}
