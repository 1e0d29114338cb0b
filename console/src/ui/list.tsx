import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api } from '../api/client.ts'
import { Button } from './parts.tsx'
import { Answer } from './query.tsx'

/** A page of a list that is read by cursor, newest first. */
interface Page<T> {
  readonly data: readonly T[]
  /** 0, null or empty at the end. */
  readonly next_cursor: number | string | null
}

/** How a list is read where it is not as most are. */
interface Reading {
  /** The name of the parameter that takes the cursor. */
  readonly cursor?: string
  /** How many rows a page has. */
  readonly limit?: number
  /** How often it is asked again by itself; never, unless given. */
  readonly everyMs?: number
}

/** A list of the API, page after page. `search` is part of what is asked, and of what is remembered. */
export function useList<T>(
  path: string,
  search: Readonly<Record<string, string>> = {},
  { cursor = 'before_id', limit = 50, everyMs }: Reading = {},
) {
  return useInfiniteQuery<Page<T>, Error, InfiniteData<Page<T>>, unknown[], number | string>({
    queryKey: [path, search],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        ...search,
        limit: String(limit),
        ...(pageParam ? { [cursor]: String(pageParam) } : {}),
      })
      return api<Page<T>>(`${path}?${query}`, { signal })
    },
    initialPageParam: 0,
    getNextPageParam: (page) => page.next_cursor || undefined,
    refetchInterval: everyMs ?? false,
  })
}

/** Shows such a list, what went wrong, and the way to further rows. */
export function List<T>({
  list,
  empty,
  more = 'Show older',
  children,
}: {
  list: ReturnType<typeof useList<T>>
  empty: ReactNode
  /** What asks for the next page. */
  more?: string
  children: (rows: readonly T[]) => ReactNode
}) {
  return (
    <Answer query={list} lines={6}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.data)
        return (
          <>
            {rows.length === 0 ? empty : children(rows)}
            <ShowOlder list={list} words={more} />
          </>
        )
      }}
    </Answer>
  )
}

/** The way to what does not fit on the pages that are there. */
export function ShowOlder({
  list,
  words = 'Show older',
}: {
  words?: string
  list: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
}) {
  if (!list.hasNextPage) return null
  return (
    <div>
      <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {words}
      </Button>
    </div>
  )
}
