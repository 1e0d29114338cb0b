import { useState } from 'react'
import { ApiError } from '../api/error.ts'
import { send } from '../api/transport.ts'
import type { Reply } from '../api/types.ts'
import { asCookie, type SignedIn, session } from '../session/session.ts'
import { Button, CodeBlock, ErrorCard, Notice } from '../ui/parts.tsx'
import { useWallets } from '../wallet/use-wallets.ts'
import { requestAccounts, signText, type Wallet, walletErrorCode } from '../wallet/wallet.ts'

type Challenge = Reply<'/v1/auth/challenge', 'post'>

/** An Agent's wallet signs a text; what it signs is shown first. */
export function WalletSignIn() {
  const wallets = useWallets()
  const [challenge, setChallenge] = useState<{ wallet: Wallet; address: string; asked: Challenge }>()
  const [failure, setFailure] = useState<Error>()
  const [busy, setBusy] = useState(false)

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
    } catch (error) {
      setFailure(readable(error))
    } finally {
      setBusy(false)
    }
  }
  const connect = (wallet: Wallet) =>
    attempt(async () => {
      const [address] = await requestAccounts(wallet)
      if (address === undefined) throw new Error('The wallet shared no account with this page.')
      const asked = await send<Challenge>('/v1/auth/challenge', { method: 'POST', body: { wallet_address: address } })
      setChallenge({ wallet, address, asked })
    })
  const sign = ({ wallet, address, asked }: NonNullable<typeof challenge>) =>
    attempt(async () => {
      const signature = await signText(wallet, address, asked.message)
      const body = { challenge_id: asked.challenge_id, signature }
      session.begin(await send<SignedIn>('/v1/auth/verify', { method: 'POST', body, headers: asCookie }))
    })

  return (
    <div className="stack">
      {failure ? <ErrorCard error={failure} /> : null}
      {challenge ? (
        <>
          <p className="small">Your wallet will show this text. Signing it moves nothing and costs nothing.</p>
          <CodeBlock text={challenge.asked.message} what="the text to sign" />
          <div className="row">
            <Button kind="primary" busy={busy} onClick={() => void sign(challenge)}>
              Sign in {challenge.wallet.name}
            </Button>
            <Button kind="plain" onClick={() => setChallenge(undefined)}>
              Back
            </Button>
          </div>
        </>
      ) : wallets.length === 0 ? (
        <Notice tone="neutral" title="No wallet in this browser">
          <p className="small">
            Open this page in your wallet’s browser, or sign in by a program: <a href="/docs">see the documentation</a>.
          </p>
        </Notice>
      ) : (
        wallets.map((wallet) => (
          <Button key={wallet.id} busy={busy} onClick={() => void connect(wallet)}>
            {wallet.icon ? <img src={wallet.icon} alt="" width="20" height="20" /> : null}
            {wallet.name}
          </Button>
        ))
      )}
    </div>
  )
}

function readable(error: unknown): Error {
  if (error instanceof ApiError && error.code === 'owner_wallet_not_allowed')
    return new Error('This wallet belongs to an owner: sign in as an owner, above.')
  if (error instanceof Error) return error
  const code = walletErrorCode(error)
  if (code === 4001) return new Error('You declined in the wallet. Nothing was signed.')
  if (code === -32002) return new Error('The wallet has a question open already: look at its window.')
  return new Error('The wallet did not answer as it should. Open it and try again.')
}
