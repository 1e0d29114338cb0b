import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorCard, Skeleton } from './parts.tsx'

/** What a question to the server looks like: lines while it is asked, what went wrong, or the answer. An old answer stays when a later one fails. */
export function Answer<T>({
  query,
  lines,
  children,
}: {
  query: UseQueryResult<T, Error>
  lines?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined)
    return (
      <>
        {query.error ? <ErrorCard error={query.error} retry={() => void query.refetch()} /> : null}
        {children(query.data)}
      </>
    )
  if (query.error) return <ErrorCard error={query.error} retry={() => void query.refetch()} />
  return <Skeleton lines={lines ?? 3} />
}
