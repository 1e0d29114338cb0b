import { useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import type { Reply } from '../../api/types.ts'
import { fromMicro, shortAddress } from '../../ui/format.ts'
import { Button, ErrorCard, Notice } from '../../ui/parts.tsx'
import { type Obstacle, obstacleTo, sendTransfer, type TokenTransfer } from '../../wallet/transfer.ts'
import { useWallets } from '../../wallet/use-wallets.ts'
import { requestAccounts, type Wallet, walletErrorCode } from '../../wallet/wallet.ts'
import { ObstacleNotice } from './obstacle.tsx'
import type { Local, Order } from './states.ts'

interface PaymentProps {
  readonly order: Order
  readonly setLocal: (local: Local) => void
  readonly refresh: () => Promise<void>
}

const LOOK_AGAIN_MS = 5_000
const REJECTED_BY_PERSON = 4001

const transferOf = (order: Order): TokenTransfer => ({
  chainId: order.chain_id,
  from: order.payer_address,
  token: order.token_address,
  to: order.recipient_address,
  amount: BigInt(order.amount_micro),
})

/** Chooses the wallet, looks whether it can pay, and asks it once. */
export function WalletPayment(props: PaymentProps) {
  const wallets = useWallets()
  const [wallet, setWallet] = useState<Wallet>()
  const [failure, setFailure] = useState<Error>()
  const connect = async (chosen: Wallet) => {
    setFailure(undefined)
    try {
      await requestAccounts(chosen)
      setWallet(chosen)
    } catch (error) {
      setFailure(
        new Error(
          walletErrorCode(error) === -32002
            ? 'The wallet has a question open already: look at its window.'
            : 'The wallet did not share an account with this page.',
        ),
      )
    }
  }
  if (wallet) return <Connected wallet={wallet} {...props} />
  return (
    <div className="stack">
      {failure ? <ErrorCard error={failure} /> : null}
      <p>
        Connect the wallet <strong title={props.order.payer_address}>{shortAddress(props.order.payer_address)}</strong>.
        Only it can pay this order.
      </p>
      {wallets.length === 0 ? (
        <Notice tone="neutral" title="No wallet in this browser">
          <p className="small">Open this page in the browser of your wallet, by the code below.</p>
        </Notice>
      ) : (
        <div className="row">
          {wallets.map((one) => (
            <Button key={one.id} onClick={() => void connect(one)}>
              {one.icon ? <img src={one.icon} alt="" width="20" height="20" /> : null}
              Connect {one.name}
            </Button>
          ))}
        </div>
      )}
    </div>
  )
}

function Connected({ wallet, order, setLocal, refresh }: PaymentProps & { wallet: Wallet }) {
  const [obstacle, setObstacle] = useState<Obstacle | 'looking' | undefined>('looking')
  const [failure, setFailure] = useState<Error>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    let current = true
    const look = async () => {
      const found = await obstacleTo(transferOf(order), wallet).catch(() => 'looking' as const)
      if (current) setObstacle(found)
    }
    void look()
    const timer = setInterval(() => void look(), LOOK_AGAIN_MS)
    return () => {
      current = false
      clearInterval(timer)
    }
  }, [order, wallet])

  const pay = async () => {
    setBusy(true)
    setFailure(undefined)
    setLocal('reserving')
    try {
      await payOnce(order, wallet, setLocal)
    } catch (error) {
      setFailure(error as Error)
      setLocal('idle')
    }
    await refresh()
    setBusy(false)
  }

  return (
    <div className="stack">
      {failure ? <ErrorCard error={failure} /> : null}
      {obstacle === undefined ? null : <ObstacleNotice obstacle={obstacle} order={order} wallet={wallet} />}
      <div>
        <Button kind="primary" busy={busy} disabled={obstacle !== undefined} onClick={() => void pay()}>
          Pay {fromMicro(order.amount_micro)} {order.token_symbol}
        </Button>
      </div>
    </div>
  )
}

/**
 * Reserves the order's one attempt, then asks the wallet. Only a clear "no" of the person gives the attempt back:
 * every other ending may have sent something, and leaves the attempt for the watcher to find (spec 3.1, rule 4).
 * Rejects when nothing was reserved.
 */
async function payOnce(order: Order, wallet: Wallet, setLocal: (local: Local) => void): Promise<void> {
  const path = `/v1/payments/orders/${order.id}`
  const attempt = await api<Reply<'/v1/payments/orders/{id}/attempts', 'post'>>(`${path}/attempts`, {
    method: 'POST',
    body: {},
  }).catch((error: unknown) => {
    // another tab was faster: its payment is the one to follow
    if (error instanceof ApiError && error.code === 'attempt_active') return undefined
    throw error
  })
  if (attempt === undefined) return setLocal('idle')
  setLocal('wallet-open')
  let hash: string
  try {
    hash = await sendTransfer(transferOf(order), wallet)
  } catch (error) {
    if (walletErrorCode(error) !== REJECTED_BY_PERSON) return setLocal('unknown')
    await api(`${path}/attempts/${attempt.data.attempt_id}/reject`, { method: 'POST', body: {} })
    return setLocal('declined')
  }
  // the watcher finds the payment without it, so that a failure here loses nothing
  await api(`${path}/transactions`, { method: 'POST', body: { tx_hash: hash } }).catch(() => undefined)
  setLocal('idle')
}
