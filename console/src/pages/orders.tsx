import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { fromMicro } from '../ui/format.ts'
import { Badge, ButtonLink, Card, Credits, Empty, PageHead, Table, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { orderStates } from './pay/states.ts'

/** Every order of this account, newest first. */
export function Orders() {
  const orders = useQuery({
    queryKey: ['orders'],
    queryFn: ({ signal }) => api<Reply<'/v1/payments/orders', 'get'>>('/v1/payments/orders', { signal }),
    refetchInterval: 10_000,
  })
  return (
    <>
      <PageHead
        title="Orders"
        actions={
          <ButtonLink to="/topup" kind="primary">
            Buy Credits
          </ButtonLink>
        }
      >
        What you bought with a wallet, and what is still on its way.
      </PageHead>
      <Card>
        <Answer query={orders} lines={5}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title="No orders yet">
                <ButtonLink to="/topup" kind="primary">
                  Buy your first Credits
                </ButtonLink>
              </Empty>
            ) : (
              <Table
                caption="Orders"
                columns={['Made', 'State', 'Credited to', { number: 'Payment' }, { number: 'Credits' }, 'Order']}
              >
                {data.map((order) => (
                  <tr key={order.id}>
                    <td>
                      <Time at={order.created_at} />
                    </td>
                    <td>
                      <Badge tone={orderStates[order.status].tone}>{orderStates[order.status].words}</Badge>
                    </td>
                    <td>{order.account_label}</td>
                    <td className="number">
                      {fromMicro(order.amount_micro)} {order.token_symbol}
                    </td>
                    <td className="number">
                      <Credits micro={order.credit_micro} />
                    </td>
                    <td>
                      <Link to="/topup/$order" params={{ order: order.id }}>
                        Open <span className="visually-hidden">order {order.id}</span>
                      </Link>
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Answer>
      </Card>
    </>
  )
}
