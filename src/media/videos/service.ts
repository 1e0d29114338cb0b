import { Fault } from '../../kernel/errors.ts'
import type { JsonObject } from '../../providers/provider.ts'
import { takePictures } from '../pictures.ts'
import { modelFor, type QuoteDeps, quote, refuseOtherWords } from '../quote.ts'
import { webhookUrl, withoutNulls } from '../request.ts'
import { MEDIA_RUNNER } from '../runner.ts'
import type { NewTask } from '../tasks/service.ts'

/** What a provider could take for the length of a film, or for more films than one. */
const OTHER_WORDS_FOR_DURATION = [
  'seconds',
  'duration_seconds',
  'durationseconds',
  'length',
  'video_length',
  'num_seconds',
]
const OTHER_WORDS_FOR_ONE = ['n', 'num_videos', 'num_outputs', 'batch_size', 'samplecount', 'numberofvideos']

/** The task that a video request makes. Fields that are the provider's own are kept and forwarded. */
export function videoTask(deps: QuoteDeps, body: JsonObject): Omit<NewTask, 'caller' | 'requestId' | 'alongside'> {
  const model = modelFor(deps, 'video', String(body.model))
  const { async: _, webhook_url, callBackUrl, image_input, ...fields } = withoutNulls(body)
  refuseOtherWords(fields, 'duration', OTHER_WORDS_FOR_DURATION)
  refuseOtherWords(fields, 'one call for each film', OTHER_WORDS_FOR_ONE)
  const duration = Number(fields.duration ?? model.defaultSeconds)
  if (duration > model.secondsMax)
    throw new Fault('invalid_field', {
      message: `This model makes films of ${model.secondsMax} seconds at most.`,
      fields: { field: 'duration' },
    })
  const { named, uploads } = takePictures((image_input as string[] | undefined) ?? [], model.inputImagesMax)
  const told = (field: string, value: unknown) => webhookUrl(deps.checkedWebhookUrl, field, value)
  const isBySecond = model.prices.some(({ unit }) => unit === 'second')
  const request = {
    ...fields,
    // what is held for is also what is asked for
    ...(isBySecond || fields.duration !== undefined ? { duration } : {}),
    ...(named.length > 0 ? { image_input: named } : {}),
  }
  return {
    runner: MEDIA_RUNNER,
    type: 'video',
    model: model.id,
    request,
    uploads,
    price: quote(deps, model, { ...request, duration }),
    etaSeconds: model.etaSeconds,
    timeoutMs: model.timeoutMs,
    webhookUrl: told('webhook_url', webhook_url) ?? told('callBackUrl', callBackUrl),
  }
}
