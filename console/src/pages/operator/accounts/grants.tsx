import type { Reply } from '../../../api/types.ts'
import { List, useList } from '../../../ui/list.tsx'
import { Card, Credits, Empty, Table, Time } from '../../../ui/parts.tsx'

type Grant = Reply<'/v1/admin/accounts/{id}/grants', 'get'>['data'][number]

const sources = {
  order: 'Order',
  x402: 'x402 payment',
  axon: 'Native payment',
  promo: 'Promotion',
  operator: 'Operator',
} as const

/** What an account was given: by payments, and by operators. */
export function Grants({ accountId }: { accountId: number }) {
  const list = useList<Grant>(`/v1/admin/accounts/${accountId}/grants`, {}, { limit: 10 })
  return (
    <Card title="Credits it was given">
      <List list={list} empty={<Empty title="Nothing yet" />}>
        {(rows) => (
          <Table caption="Grants" columns={['When', 'By', { number: 'Amount' }, 'Kind', 'Expires', 'Reason']}>
            {rows.map((row) => (
              <tr key={row.id}>
                <td>
                  <Time at={row.created_at} />
                </td>
                <td>
                  {sources[row.source]}
                  {row.source === 'operator' ? <div className="quiet small">{row.granted_by}</div> : null}
                </td>
                <td className="number">
                  <Credits micro={row.amount_micro} />
                </td>
                <td>{row.bucket}</td>
                <td>{row.expires_at === null ? 'Never' : <Time at={row.expires_at} />}</td>
                <td>{row.reason}</td>
              </tr>
            ))}
          </Table>
        )}
      </List>
    </Card>
  )
}
