import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, CodeBlock, ErrorCard, Skeleton, Time } from '../../ui/parts.tsx'
import type { Agent } from './agents.tsx'

/** A token by which this Agent may have a wallet of the owner linked, once. */
export function DelegationDialog({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () =>
      api<Reply<'/v1/me/wallet/delegation', 'post'>>('/v1/me/wallet/delegation', {
        method: 'POST',
        body: { agent_wallet_address: agent.wallet_address },
      }),
  })
  useEffect(() => mutate(), [mutate])
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title="Let it link a wallet of mine">
      <p>
        With this token the Agent asks your wallet for one signature and links it to your account. It works once and
        moves no money.
      </p>
      {error ? <ErrorCard error={error} retry={() => mutate()} /> : null}
      {data ? (
        <>
          <CodeBlock text={data.delegation_token} what="delegation token" />
          <p className="small quiet">
            Ends <Time at={new Date(data.expires_at * 1000).toISOString()} relative />. A newer one takes its place.
          </p>
        </>
      ) : isPending ? (
        <Skeleton lines={2} />
      ) : null}
      <footer>
        <Button onClick={onClose}>Close</Button>
      </footer>
    </Dialog>
  )
}
