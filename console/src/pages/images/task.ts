import type { Reply } from '../../api/types.ts'

/** A task of this account, as the list and the single one show it. */
export type Task = Reply<'/v1/tasks', 'get'>['data'][number]

/** A picture of a task that is there. */
export interface Picture {
  /** On this server, whatever name the API has for it. */
  readonly path: string
  readonly width: number | undefined
  readonly height: number | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

const ended: ReadonlySet<Task['state']> = new Set(['success', 'fail', 'canceled'])

/** Whether it may still change. */
export const isOpen = (task: Task): boolean => !ended.has(task.state)

/** Its pictures; none before its success. */
export function picturesOf(task: Task): Picture[] {
  const { data = [] } = task.result as {
    data?: ReadonlyArray<{ url: string; expires_at: number; width?: number; height?: number }>
  }
  return data.map(({ url, expires_at, width, height }) => {
    const { pathname, search } = new URL(url, location.origin)
    return { path: `${pathname}${search}`, width, height, expiresAt: expires_at * 1000 }
  })
}

/** What it was asked for. */
export const promptOf = (task: Task): string => String((task.request as { prompt?: unknown }).prompt ?? '')
