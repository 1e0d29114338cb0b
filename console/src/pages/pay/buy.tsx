import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { newKey } from '../../api/once.ts'
import { send } from '../../api/transport.ts'
import type { Reply } from '../../api/types.ts'
import { useSession } from '../../session/use-session.ts'
import { fromMicro, toMicro } from '../../ui/format.ts'
import { Button, ButtonLink, Card, Credits, Empty, ErrorCard, Field, Notice, PageHead } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { type PaymentContext, takeContext } from './context.ts'

type Options = Reply<'/v1/payments/options', 'get'>['data']
type Asset = Options['assets'][number]

/** Chooses what to buy and makes the order. Nothing is sent from here: the order's own page does that. */
export function Buy() {
  const [context] = useState(takeContext)
  const options = useQuery({
    queryKey: ['payment options'],
    queryFn: ({ signal }) => send<Reply<'/v1/payments/options', 'get'>>('/v1/payments/options', { signal }),
  })
  return (
    <>
      <PageHead title="Buy Credits">
        One stablecoin transfer from your linked wallet. The price is fixed when the order is made and kept for 30
        minutes.
      </PageHead>
      <Answer query={options} lines={5}>
        {({ data }) => {
          const assets = data.assets.filter((asset) => asset.enabled)
          return assets.length === 0 ? (
            <Card>
              <Empty title="Nothing can be paid with right now">
                <p>The operator has named no asset, or its network cannot be reached. Try again later.</p>
              </Empty>
            </Card>
          ) : (
            <Form assets={assets} context={context} />
          )
        }}
      </Answer>
    </>
  )
}

/** Exactly: floor(amount * 10^6 / rate), as the server counts. */
const creditsFor = (amountMicro: bigint, asset: Asset): bigint => (amountMicro * 1_000_000n) / BigInt(asset.rate_ppm)

function problemOf(amountMicro: bigint | undefined, asset: Asset): string | undefined {
  if (amountMicro === undefined) return 'An amount such as 10 or 12.50.'
  if (amountMicro < BigInt(asset.min_amount_micro))
    return `At least ${fromMicro(asset.min_amount_micro)} ${asset.symbol}.`
  if (amountMicro > BigInt(asset.max_amount_micro))
    return `At most ${fromMicro(asset.max_amount_micro)} ${asset.symbol}.`
  return undefined
}

function Form({ assets, context }: { assets: readonly Asset[]; context: PaymentContext | undefined }) {
  const navigate = useNavigate()
  const [assetId, setAssetId] = useState(assets[0]?.asset_id ?? '')
  const [amount, setAmount] = useState(context ? fromMicro(context.amountMicro).replaceAll(',', '') : '10')
  const [recipient, setRecipient] = useState('')
  // the same press again is the same order, whatever happened to the first answer; another choice is another order
  const [keys] = useState(() => new Map<string, string>())
  const asset = assets.find(({ asset_id }) => asset_id === assetId) ?? assets[0]
  const amountMicro = toMicro(amount)
  const problem = asset ? problemOf(amountMicro, asset) : undefined

  const make = useMutation({
    mutationFn: async () => {
      const choice = `${assetId} ${amountMicro} ${recipient}`
      const key = keys.get(choice) ?? newKey()
      keys.set(choice, key)
      const body = { asset_id: assetId, amount_micro: String(amountMicro), idempotency_key: key }
      const token = context?.token ?? (recipient === '' ? undefined : await contextFor(String(amountMicro), recipient))
      return api<Reply<'/v1/payments/orders', 'post'>>('/v1/payments/orders', {
        method: 'POST',
        body: token === undefined ? body : { ...body, payment_context_token: token },
      })
    },
    onSuccess: ({ data }) => navigate({ to: '/topup/$order', params: { order: data.id } }),
  })
  if (!asset) return null
  return (
    <Card>
      {context ? (
        <Notice tone="neutral" title="A payment that was prepared for you">
          <p>
            Amount and recipient are fixed by whoever made this link. You see the recipient before anything is sent.
          </p>
        </Notice>
      ) : null}
      {make.error ? <Refused error={make.error} /> : null}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (problem === undefined) make.mutate()
        }}
      >
        <div className="grid-cards">
          <Field label={`Amount in ${asset.symbol}`} problem={problem}>
            {(ids) => (
              <input
                {...ids}
                className="input"
                inputMode="decimal"
                autoComplete="off"
                value={amount}
                readOnly={context !== undefined}
                onChange={(event) => setAmount(event.target.value)}
              />
            )}
          </Field>
          <Field
            label="Paid with"
            hint={`A little ${asset.chain_id === 137 ? 'POL' : 'ETH'} is needed for the network’s fee.`}
          >
            {(ids) => (
              <select {...ids} className="input" value={assetId} onChange={(event) => setAssetId(event.target.value)}>
                {assets.map((one) => (
                  <option key={one.asset_id} value={one.asset_id}>
                    {one.symbol} on {one.network_name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {context ? null : <RecipientField value={recipient} onChange={setRecipient} />}
        </div>
        <dl className="facts">
          <dt>You get</dt>
          <dd>
            <strong>
              {problem === undefined && amountMicro !== undefined ? (
                <Credits micro={creditsFor(amountMicro, asset)} />
              ) : (
                '–'
              )}
            </strong>
          </dd>
          <dt>Price</dt>
          <dd>
            {fromMicro(asset.rate_ppm)} {asset.symbol} for one Credit
          </dd>
        </dl>
        <div>
          <Button type="submit" kind="primary" busy={make.isPending} disabled={problem !== undefined}>
            Make the order
          </Button>
        </div>
      </form>
    </Card>
  )
}

async function contextFor(amountMicro: string, recipient: string): Promise<string> {
  const { data } = await api<Reply<'/v1/payments/context', 'post'>>('/v1/payments/context', {
    method: 'POST',
    body: { amount_micro: amountMicro, recipient_account_id: Number(recipient) },
  })
  return data.payment_context_token
}

/** Who gets the Credits: the payer, or one of an owner's Agents. */
function RecipientField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const state = useSession()
  const isOwner = state.status === 'signed-in' && state.account.account_type === 'owner'
  const agents = useQuery({
    queryKey: ['agents'],
    queryFn: ({ signal }) => api<Reply<'/v1/me/agents', 'get'>>('/v1/me/agents', { signal }),
    enabled: isOwner,
  })
  if (!isOwner || !agents.data || agents.data.data.length === 0) return null
  return (
    <Field label="Credited to">
      {(ids) => (
        <select {...ids} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">My account, {state.account.id}</option>
          {agents.data.data.map((agent) => (
            <option key={agent.id} value={agent.id}>
              Agent {agent.label || agent.id}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function Refused({ error }: { error: Error }) {
  if (error instanceof ApiError && error.code === 'wallet_not_linked')
    return (
      <Notice tone="warn" title="Link a wallet first">
        <p>{error.message}</p>
        <div>
          <ButtonLink to="/console/wallets">Link a wallet</ButtonLink>
        </div>
      </Notice>
    )
  return <ErrorCard error={error} />
}
