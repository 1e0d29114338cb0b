import type { ReactNode } from 'react'
import { ErrorCard, Skeleton, WaitsForNetwork } from './parts.tsx'

/** A question to the server, of one page or of many. */
interface Asked<T> {
  readonly data: T | undefined
  readonly error: Error | null
  readonly fetchStatus: 'fetching' | 'paused' | 'idle'
  readonly refetch: () => unknown
}

/** What a question to the server looks like: lines while it is asked, what went wrong, or the answer. An old answer stays when a later one fails. */
export function Answer<T>({
  query,
  lines = 3,
  children,
}: {
  query: Asked<T>
  lines?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined)
    return (
      <>
        <Failure query={query} />
        {children(query.data)}
      </>
    )
  if (query.error) return <Failure query={query} />
  return query.fetchStatus === 'paused' ? <WaitsForNetwork /> : <Skeleton lines={lines} />
}

/** What went wrong with a question, and a way to ask again; nothing while all is well. */
export function Failure({ query }: { query: Pick<Asked<unknown>, 'error' | 'refetch'> }) {
  return query.error ? <ErrorCard error={query.error} retry={() => void query.refetch()} /> : null
}
