import { useQuery } from '@tanstack/react-query'
import { send } from '../api/transport.ts'
import type { Reply } from '../api/types.ts'
import { fromMicro } from '../ui/format.ts'
import { List, useList } from '../ui/list.tsx'
import { Badge, ButtonLink, Card, Copyable, Credits, Empty, PageHead, Table, Time } from '../ui/parts.tsx'

type Payment = Reply<'/v1/payments/x402', 'get'>['data'][number]

const states = {
  awaiting_settlement: { words: 'Being paid', tone: 'accent' },
  pending: { words: 'On its way', tone: 'accent' },
  credited: { words: 'Credited', tone: 'good' },
  review_required: { words: 'The operator looks at it', tone: 'warn' },
  failed: { words: 'Failed', tone: 'bad' },
} as const

const advice: Readonly<Record<Payment['retry_action'], string>> = {
  none: '',
  poll: 'Do not pay again.',
  human_required: 'Do not pay again. Ask the operator.',
  resign: 'Sign a new payment.',
  retry_same_payment: 'Send the same payment again.',
}

/** The names that people know assets by; the id of one that is no longer offered. */
function useSymbols(): (assetId: string) => string {
  const options = useQuery({
    queryKey: ['payment options'],
    queryFn: ({ signal }) => send<Reply<'/v1/payments/options', 'get'>>('/v1/payments/options', { signal }),
  })
  return (assetId) => options.data?.data.assets.find((asset) => asset.asset_id === assetId)?.symbol ?? assetId
}

/** Credits that programs bought by x402: signed once, settled by the server. */
export function Payments() {
  const symbolOf = useSymbols()
  const list = useList<Payment>('/v1/payments/x402', {}, { everyMs: 15_000 })
  return (
    <>
      <PageHead title="x402 payments">Credits that a program bought for this account by signing a payment.</PageHead>
      <Card>
        <List
          list={list}
          empty={
            <Empty title="No x402 payments">
              <p>Programs with a wallet can buy Credits by themselves. People buy with an order.</p>
              <ButtonLink to="/topup">Buy Credits</ButtonLink>
            </Empty>
          }
        >
          {(payments) => (
            <Table
              caption="x402 payments"
              columns={['Time', 'State', { number: 'Paid' }, { number: 'Added' }, 'From', 'Transaction']}
            >
              {payments.map((payment) => (
                <tr key={payment.payment_id}>
                  <td>
                    <Time at={payment.created_at} />
                  </td>
                  <td>
                    <Badge tone={states[payment.status].tone}>{states[payment.status].words}</Badge>{' '}
                    <span className="small quiet">{advice[payment.retry_action]}</span>
                  </td>
                  <td className="number">
                    {fromMicro(payment.amount_micro)} <span className="unit">{symbolOf(payment.asset_id)}</span>
                  </td>
                  <td className="number">
                    <Credits micro={payment.amount_added} />
                  </td>
                  <td>
                    <Copyable text={payment.wallet_address} what="wallet address" />
                  </td>
                  <td>
                    <Copyable text={payment.transaction_hash} what="transaction hash" />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </List>
      </Card>
    </>
  )
}
