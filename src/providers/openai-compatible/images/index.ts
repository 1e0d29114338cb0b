import type { InputImage, MediaFile, MediaJob, MediaProvider, Submitted } from '../../media.ts'
import type { JsonObject } from '../../provider.ts'
import { objectFrom, refusalByStatus, refusalInBody } from '../../refusal.ts'
import { Scrubber } from '../../scrubber.ts'
import { submissionIsUncertain } from '../../submission.ts'
import type { TransportOptions } from '../../transport.ts'
import { openWire, type WireRequest } from '../../wire.ts'
import { multipart } from './multipart.ts'

/**
 * A provider of pictures that speaks OpenAI's `POST {baseUrl}/images/generations` and, with pictures to start from,
 * `/images/edits`. It answers in the same request, so there is never a job to ask for. Throws TypeError when the
 * options cannot be meant so.
 */
export function createOpenAiImages(options: TransportOptions): MediaProvider {
  const { name } = options
  const wire = openWire(options)
  const scrubber = new Scrubber([options.apiKey, ...Object.values(options.headers ?? {})])

  return {
    async submit(job) {
      if (job.type !== 'image') return refused(`${name} makes pictures only.`)
      const request = await requestFor(job)
      if (typeof request === 'string') return refused(request)
      const answer = await wire.send({ ...request, signal: job.signal })
      if (answer.kind === 'unsent') {
        return { kind: 'refused', status: undefined, message: answer.message, retryable: !answer.aborted }
      }
      if (answer.kind === 'lost') return answer
      const { status, headers, text } = answer
      if (status >= 300) {
        const refusal = refusalByStatus({ name, scrubber, status, headers, text })
        return submissionIsUncertain(status) ? { kind: 'lost', message: refusal.message } : refusal
      }
      const body = objectFrom(text)
      if (!body) return { kind: 'lost', message: `${name} answered ${status} without a JSON object.` }
      return refusalInBody(body, name, scrubber) ?? ended(body, name)
    },
    poll: async () => ({ kind: 'missing' }),
    find: undefined,
    cancel: undefined,
    readCallback: undefined,
    close: wire.close,
  }
}

/** Generations take JSON, edits a form. What the client sent goes on as it is, with the provider's own model name. */
async function requestFor({ model, input, images, attemptId }: MediaJob): Promise<WireRequest | string> {
  const fields: JsonObject = { ...input, model }
  const marks = { 'idempotency-key': attemptId, 'x-request-id': attemptId }
  if (images.length === 0) {
    return { method: 'POST', path: '/images/generations', headers: marks, body: JSON.stringify(fields) }
  }
  const files = await Promise.all(images.map(readImage))
  const unreadable = files.indexOf(undefined)
  if (unreadable >= 0) return `The picture ${unreadable + 1} to start from cannot be read.`
  const form = multipart(
    fields,
    files.filter((file) => file !== undefined),
  )
  return {
    method: 'POST',
    path: '/images/edits',
    headers: { ...marks, 'content-type': form.contentType },
    body: form.body,
  }
}

const readImage = (image: InputImage) => image.read()

function ended(body: JsonObject, name: string): Submitted {
  const files = Array.isArray(body.data) ? body.data.flatMap(fileOf) : []
  if (files.length > 0) return { kind: 'succeeded', files, units: files.length }
  return { kind: 'failed', code: 'no_result', message: `${name} answered without a picture.`, billed: undefined }
}

function fileOf(entry: unknown): MediaFile[] {
  const { b64_json: encoded, url } = (entry ?? {}) as JsonObject
  if (typeof encoded === 'string') return [{ kind: 'bytes', bytes: Buffer.from(encoded, 'base64') }]
  return typeof url === 'string' ? [{ kind: 'url', url }] : []
}

const refused = (message: string): Submitted => ({ kind: 'refused', status: undefined, message, retryable: false })
