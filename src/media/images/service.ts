import { Fault } from '../../kernel/errors.ts'
import type { JsonObject } from '../../providers/provider.ts'
import { takePictures } from '../pictures.ts'
import { modelFor, type QuoteDeps, quote, refuseOtherWords } from '../quote.ts'
import { webhookUrl, withoutNulls } from '../request.ts'
import { MEDIA_RUNNER } from '../runner.ts'
import type { NewTask } from '../tasks/service.ts'

/** What a provider could take for the number of pictures. */
const OTHER_WORDS_FOR_N = ['num_images', 'num_outputs', 'number_of_images', 'batch_size', 'max_images', 'samplecount']

/** The task that an image request makes: its model, its price, and what is asked for as it may be read back. */
export function imageTask(deps: QuoteDeps, body: JsonObject): Omit<NewTask, 'caller' | 'requestId' | 'alongside'> {
  const model = modelFor(deps, 'image', String(body.model))
  const { async: _, webhook_url, image_input, ...fields } = withoutNulls(body)
  const n = Number(fields.n ?? 1)
  refuseOtherWords(fields, 'n', OTHER_WORDS_FOR_N)
  refuseTooMany(n, model.imagesPerCallMax)
  const { named, uploads } = takePictures((image_input as string[] | undefined) ?? [], model.inputImagesMax)
  const request = {
    ...fields,
    n,
    response_format: fields.response_format ?? 'url',
    ...(named.length > 0 ? { image_input: named } : {}),
  }
  return {
    runner: MEDIA_RUNNER,
    type: 'image',
    model: model.id,
    request,
    uploads,
    price: quote(deps, model, request),
    etaSeconds: model.etaSeconds,
    timeoutMs: model.timeoutMs,
    webhookUrl: webhookUrl(deps.checkedWebhookUrl, 'webhook_url', webhook_url),
  }
}

function refuseTooMany(n: number, max: number): void {
  if (n > max)
    throw new Fault('invalid_field', {
      message: `This model makes ${max} at most in one call.`,
      fields: { field: 'n' },
    })
}
