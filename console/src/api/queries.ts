import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './error.ts'

const RETRIES_MAX = 2

/** Answers of the API as the pages see them. What the server refused is not asked again; what did not arrive is. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) =>
        count < RETRIES_MAX && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
})
