import { UnavailableError } from './errors.ts'
import type { Deadline } from './transport.ts'

/**
 * The `data:` payloads of server-sent events, without `[DONE]`. A stream that ends before `[DONE]` was cut: it rejects
 * with UnavailableError. Whoever stops reading closes it.
 */
export async function* dataOf(
  stream: ReadableStream<Uint8Array>,
  deadline: Deadline,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      // the time that the reader of the pieces takes is not the server's
      deadline.extend()
      const { done, value } = await reader.read()
      deadline.end()
      rest += decoder.decode(value, { stream: !done })
      const lines = rest.split(/\r?\n/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (!line.startsWith('data:')) continue
        const data = line.slice(5).trim()
        if (data === '[DONE]') return
        yield data
      }
      if (done) throw new Error('The stream ended before its end was said.')
    }
  } catch (error) {
    if (signal?.aborted) throw error
    throw new UnavailableError(0, { message: 'The stream was cut. What was made of it is charged.' }, undefined, {
      cause: error,
    })
  } finally {
    deadline.end()
    await reader.cancel().catch(() => undefined)
  }
}
