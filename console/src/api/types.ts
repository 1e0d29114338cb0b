import type { paths } from '../../../sdk/src/api.d.ts'

type Json<R> = R extends { content: { 'application/json': infer Body } } ? Body : never

/** What an endpoint answers, by path, method and status. */
export type Reply<P extends keyof paths, M extends keyof paths[P], S extends number = 200> = paths[P][M] extends {
  responses: infer Responses
}
  ? S extends keyof Responses
    ? Json<Responses[S]>
    : never
  : never
