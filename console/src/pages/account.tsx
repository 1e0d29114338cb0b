import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { Badge, ButtonLink, Card, Copyable, PageHead, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'

type Me = Reply<'/v1/me', 'get'>['account']

const modes = {
  self_only: 'Its own Credits only',
  self_then_owner: 'Its own Credits, then its owner’s',
  owner_only: 'Its owner’s Credits only',
} as const

/** Who is signed in. */
export function AccountPage() {
  const me = useQuery({ queryKey: ['me'], queryFn: ({ signal }) => api<Reply<'/v1/me', 'get'>>('/v1/me', { signal }) })
  return (
    <>
      <PageHead title="Account">Who you are here. Name the number of the account when you ask for help.</PageHead>
      <Answer query={me} lines={5}>
        {({ account }) => (
          <>
            <Card title={account.email || account.label || `Account ${account.id}`}>
              <Facts account={account} />
            </Card>
            <Card title="Look after it">
              <div className="row">
                {account.account_type === 'owner' ? (
                  <>
                    <ButtonLink to="/console/wallets">Wallets</ButtonLink>
                    <ButtonLink to="/console/agents">Agents</ButtonLink>
                  </>
                ) : null}
                <ButtonLink to="/console/keys">API keys</ButtonLink>
                <ButtonLink to="/console/sessions">Sessions, sign out everywhere</ButtonLink>
              </div>
            </Card>
          </>
        )}
      </Answer>
    </>
  )
}

function Facts({ account }: { account: Me }) {
  const rows = [
    ['Account', <Copyable key="id" text={String(account.id)} what="account number" whole />],
    [
      'Kind',
      <span key="kind" className="row">
        {account.account_type === 'owner' ? 'Owner' : 'Agent'}
        {account.role === 'admin' ? <Badge tone="accent">Administrator</Badge> : null}
        {account.status === 'active' ? null : <Badge tone="bad">{account.status}</Badge>}
      </span>,
    ],
    ['E-mail', account.email],
    ['Wallet', account.wallet_address && <Copyable key="wallet" text={account.wallet_address} what="wallet address" />],
    ['Owner', account.owner_account_id && `Account ${account.owner_account_id}`],
    ['Spends', account.billing_mode && modes[account.billing_mode]],
    ['Since', <Time key="since" at={account.created_at} />],
  ] as const
  return (
    <dl className="facts">
      {rows
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
