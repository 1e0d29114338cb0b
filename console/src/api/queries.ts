import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './error.ts'

const RETRIES_MAX = 2
/** Short: whoever waits sees lines without words until then. */
const FIRST_RETRY_MS = 300

/** Nothing said that the request itself is at fault: it did not arrive, or whoever should answer is away. */
const mayPass = ({ status }: ApiError): boolean => status === 0 || (status >= 502 && status <= 504)

/** Answers of the API as the pages see them. What the server refused or broke over is not asked again by itself; what did not arrive is. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < RETRIES_MAX && error instanceof ApiError && mayPass(error),
      retryDelay: (count) => FIRST_RETRY_MS * 2 ** count,
    },
  },
})
