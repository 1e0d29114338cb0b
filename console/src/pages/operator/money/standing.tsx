import type { Reply } from '../../../api/types.ts'
import { Badge } from '../../../ui/parts.tsx'

/** The overview as the server answers it. */
export type Overview = Reply<'/v1/admin/overview', 'get'>['data']

/** How something stands; the server decides, the page says it in a word and a colour. */
export type Standing = Overview['server']['state']

const shown = {
  ok: { words: 'OK', tone: 'good' },
  warning: { words: 'Look today', tone: 'warn' },
  alarm: { words: 'Act now', tone: 'bad' },
  unknown: { words: 'Not known yet', tone: 'neutral' },
} as const

/** How something stands, in words and in a colour. */
export function StandingBadge({ state }: { state: Standing }) {
  const { words, tone } = shown[state]
  return <Badge tone={tone}>{words}</Badge>
}
