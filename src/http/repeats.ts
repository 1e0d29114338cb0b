import type { FastifyReply } from 'fastify'
import type { Call } from './route.ts'

/** What tells whether a request repeats another: its key, and everything that it asks for. */
export const namedBy = <B>(
  { caller, requestId, confirmCredential, request }: Call<unknown, unknown, B>,
  route: string,
) => {
  const key = request.headers['idempotency-key']
  return {
    accountId: caller.accountId,
    requestId,
    confirmCredential,
    route,
    key: key === undefined ? undefined : String(key),
  }
}

/** Sends an answer byte for byte as it is kept for repeats. */
export function sendStored(
  reply: FastifyReply,
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers })
    .serializer((body: unknown) => body as string)
    .send(answer.body)
}
