import { useState } from 'react'
import { fromMicro, shortAddress } from '../../ui/format.ts'
import { Button, Copyable, Notice } from '../../ui/parts.tsx'
import { type Obstacle, switchChain } from '../../wallet/transfer.ts'
import { type Wallet, walletErrorCode } from '../../wallet/wallet.ts'
import type { Order } from './states.ts'

/** What stands between the wallet and the payment, and what to do about it. */
export function ObstacleNotice({
  obstacle,
  order,
  wallet,
}: {
  obstacle: Obstacle | 'looking'
  order: Order
  wallet: Wallet
}) {
  if (obstacle === 'looking') return <p className="quiet">Looking at the wallet.</p>
  switch (obstacle.kind) {
    case 'other-account':
      return (
        <Notice tone="warn" title="Another account is selected">
          <p>
            This order can only be paid from <Copyable text={order.payer_address} what="payer address" />. Select it in
            the wallet{obstacle.selected ? `: now it is ${shortAddress(obstacle.selected)}` : ''}.
          </p>
        </Notice>
      )
    case 'other-chain':
      return (
        <Notice tone="warn" title={`The wallet is on another network than ${order.network_name}`}>
          <SwitchNetwork wallet={wallet} order={order} />
        </Notice>
      )
    case 'too-few-tokens':
      return (
        <Notice tone="warn" title={`Not enough ${order.token_symbol}`}>
          <p>
            The wallet has {fromMicro(obstacle.has)} and the order takes {fromMicro(order.amount_micro)}. Nothing is
            reserved yet.
          </p>
        </Notice>
      )
    case 'no-gas':
      return (
        <Notice tone="warn" title="No coin for the network’s fee">
          <p>
            A transfer on {order.network_name} costs a little of the network’s own coin. Send some to{' '}
            <Copyable text={order.payer_address} what="payer address" /> first. Nothing is reserved yet.
          </p>
        </Notice>
      )
  }
}

const UNKNOWN_NETWORK = 4902

function SwitchNetwork({ wallet, order }: { wallet: Wallet; order: Order }) {
  const [refused, setRefused] = useState('')
  const change = () => {
    setRefused('')
    switchChain(wallet, order.chain_id).catch((error: unknown) =>
      setRefused(
        walletErrorCode(error) === UNKNOWN_NETWORK
          ? `The wallet does not know this network. Add it there first: chain ${order.chain_id}.`
          : 'The wallet did not switch. Choose the network in the wallet itself.',
      ),
    )
  }
  return (
    <>
      <div>
        <Button onClick={change}>Switch to {order.network_name}</Button>
      </div>
      {refused ? <p role="alert">{refused}</p> : null}
    </>
  )
}
