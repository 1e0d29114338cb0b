import { Link } from '@tanstack/react-router'
import { useList } from '../../ui/list.tsx'
import { Notice } from '../../ui/parts.tsx'
import { Failure } from '../../ui/query.tsx'
import type { Settlement } from '../settlements/settlements.tsx'

/** How many calls wait for a decision about their cost. */
export function WaitingSettlements() {
  const list = useList<Settlement>('/v1/credits/settlements', {}, { everyMs: 30_000 })
  if (!list.data) return <Failure query={list} />
  const rows = list.data.pages.flatMap(({ data }) => data)
  if (rows.length === 0) return null
  const many = `${rows.length}${list.hasNextPage ? ' or more' : ''} calls wait for their settlement`
  const yours = rows.filter((row) => row.can_authorize).length
  return (
    <Notice tone="warn" title={rows.length === 1 ? 'One call waits for its settlement' : many}>
      <p>
        Credits stay held until then. {yours > 0 ? `${yours} of them can be authorized by you now. ` : ''}
        <Link to="/console/settlements">See settlements</Link>
      </p>
    </Notice>
  )
}
