import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { Dialog } from '../ui/dialog.tsx'
import {
  Badge,
  Button,
  Card,
  CodeBlock,
  Copyable,
  Empty,
  ErrorCard,
  Notice,
  PageHead,
  Table,
  Time,
} from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { useWallets } from '../wallet/use-wallets.ts'
import { requestAccounts, signText, type Wallet, walletErrorCode } from '../wallet/wallet.ts'

type Wallets = Reply<'/v1/me/wallets', 'get'>
type Challenge = Reply<'/v1/me/wallet/challenge', 'post'>

/** The owner's wallets: what orders may be paid from. */
export function OwnerWallets() {
  const wallets = useQuery({
    queryKey: ['wallets'],
    queryFn: ({ signal }) => api<Wallets>('/v1/me/wallets', { signal }),
  })
  const [linking, setLinking] = useState(false)
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (address: string) => api(`/v1/me/wallets/${address}`, { method: 'DELETE' }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['wallets'] }),
  })
  return (
    <>
      <PageHead
        title="Wallets"
        actions={
          <Button kind="primary" onClick={() => setLinking(true)}>
            Link a wallet
          </Button>
        }
      >
        Credits are paid from a wallet of yours. The newest one linked is the one that new orders name.
      </PageHead>
      <Card>
        {remove.error ? <ErrorCard error={remove.error} /> : null}
        <Answer query={wallets}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title="No wallet yet">
                <p>Linking one is a signature. It moves nothing and costs nothing.</p>
                <Button kind="primary" onClick={() => setLinking(true)}>
                  Link a wallet
                </Button>
              </Empty>
            ) : (
              <Table caption="Wallets" columns={['Address', 'Linked', 'Actions']}>
                {data.map((wallet) => (
                  <tr key={wallet.wallet_address}>
                    <td>
                      <Copyable text={wallet.wallet_address} what="wallet address" />{' '}
                      {wallet.primary ? <Badge tone="accent">Pays new orders</Badge> : null}
                    </td>
                    <td>
                      <Time at={wallet.created_at} />
                    </td>
                    <td>
                      <Button
                        small
                        kind="danger"
                        busy={remove.isPending}
                        onClick={() => remove.mutate(wallet.wallet_address)}
                        aria-label={`Remove ${wallet.wallet_address}`}
                      >
                        Remove
                      </Button>
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Answer>
      </Card>
      {linking ? <LinkDialog onClose={() => setLinking(false)} /> : null}
    </>
  )
}

function LinkDialog({ onClose }: { onClose: () => void }) {
  const known = useWallets()
  const queries = useQueryClient()
  const [asked, setAsked] = useState<{ wallet: Wallet; address: string; challenge: Challenge }>()
  const connect = useMutation({
    mutationFn: async (wallet: Wallet) => {
      const [address] = await requestAccounts(wallet)
      if (address === undefined) throw new Error('The wallet shared no account with this page.')
      const challenge = await api<Challenge>('/v1/me/wallet/challenge', {
        method: 'POST',
        body: { wallet_address: address },
      })
      setAsked({ wallet, address, challenge })
    },
  })
  const sign = useMutation({
    mutationFn: async ({ wallet, address, challenge }: NonNullable<typeof asked>) => {
      const signature = await signText(wallet, address, challenge.message)
      await api('/v1/me/wallet', { method: 'PUT', body: { challenge_id: challenge.challenge_id, signature } })
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['wallets'] })
      onClose()
    },
  })
  const failure = sign.error ?? connect.error
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title="Link a wallet">
      {failure ? (
        <ErrorCard
          error={
            walletErrorCode(failure) === 4001 ? new Error('You declined in the wallet. Nothing was signed.') : failure
          }
        />
      ) : null}
      {asked ? (
        <>
          <p className="small">Your wallet shows this text. Signing it moves nothing and costs nothing.</p>
          <CodeBlock text={asked.challenge.message} what="the text to sign" />
          <footer>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="primary" busy={sign.isPending} onClick={() => sign.mutate(asked)}>
              Sign with {asked.wallet.name}
            </Button>
          </footer>
        </>
      ) : (
        <>
          {known.length === 0 ? (
            <Notice tone="neutral" title="No wallet in this browser">
              <p>Open this page in your wallet’s browser. An Agent of yours can link it too: see the page Agents.</p>
            </Notice>
          ) : (
            known.map((wallet) => (
              <Button key={wallet.id} busy={connect.isPending} onClick={() => connect.mutate(wallet)}>
                {wallet.name}
              </Button>
            ))
          )}
          <footer>
            <Button onClick={onClose}>Cancel</Button>
          </footer>
        </>
      )}
    </Dialog>
  )
}
