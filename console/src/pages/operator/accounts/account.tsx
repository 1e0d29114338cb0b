import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { useSession } from '../../../session/use-session.ts'
import { Badge, Button, ButtonLink, Card, Copyable, Credits, PageHead, Time } from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { AdminsOnly } from '../admins-only.tsx'
import { type Deed, ReasonDialog, Said } from '../reason-dialog.tsx'
import { AlertDialog } from './alert-dialog.tsx'
import { Balance } from './balance.tsx'
import { deeds } from './deeds.tsx'
import { GrantDialog } from './grant-dialog.tsx'
import { Grants } from './grants.tsx'
import { Agents, Calls, Keys, Orders } from './lists.tsx'
import { spends, statusTones, whoIs } from './words.ts'

/** An account with everything that an admin is shown of it. */
export type FullAccount = Reply<'/v1/admin/accounts/{id}', 'get'>

type Asking = Deed | 'grant' | 'alert'

const PATHS = ['/v1/admin/accounts', '/v1/admin/audit-log', 'balance']

/** One account: what it has, its credentials, what it did lately, and everything that may be done to it. */
export const AccountInFull = () => (
  <AdminsOnly>
    <Read />
  </AdminsOnly>
)

function Read() {
  const { id } = useParams({ strict: false }) as { id: string }
  const account = useQuery({
    queryKey: ['/v1/admin/accounts', id],
    queryFn: ({ signal }) => api<FullAccount>(`/v1/admin/accounts/${encodeURIComponent(id)}`, { signal }),
  })
  return (
    <>
      {account.data ? null : <PageHead title={`Account ${id}`} />}
      <Answer query={account} lines={8}>
        {(data) => <Whole key={data.account.id} full={data} />}
      </Answer>
    </>
  )
}

function Whole({ full }: { full: FullAccount }) {
  const { account } = full
  const [asking, setAsking] = useState<Asking>()
  const [said, setSaid] = useState('')
  const ask = (next: Asking) => {
    setSaid('')
    setAsking(next)
  }
  const close = () => setAsking(undefined)
  return (
    <>
      <PageHead
        title={`Account ${account.id}`}
        actions={
          <>
            <ButtonLink to="/console/operator/audit-log" search={{ target: `account:${account.id}` }}>
              Audit log
            </ButtonLink>
            <Button kind="primary" onClick={() => ask('grant')}>
              Give Credits
            </Button>
          </>
        }
      >
        {whoIs(account)}
      </PageHead>
      <Said text={said} />
      <Who full={full} ask={ask} />
      <Balance full={full} />
      <Grants accountId={account.id} />
      <Keys full={full} ask={ask} />
      <Agents full={full} />
      <Calls full={full} />
      <Orders full={full} />
      {asking === 'grant' ? <GrantDialog full={full} onClose={close} onDone={setSaid} /> : null}
      {asking === 'alert' ? <AlertDialog full={full} refresh={PATHS} onClose={close} onDone={setSaid} /> : null}
      {typeof asking === 'object' ? (
        <ReasonDialog deed={asking} refresh={PATHS} onClose={close} onDone={setSaid} />
      ) : null}
    </>
  )
}

function Who({ full, ask }: { full: FullAccount; ask: (asking: Asking) => void }) {
  const { account, sessions, holds, alert } = full
  const state = useSession()
  const own = state.status === 'signed-in' && state.account.id === account.id
  return (
    <Card
      title={account.account_type === 'owner' ? 'Owner' : 'Agent'}
      actions={
        <span className="row">
          {account.role === 'admin' ? <Badge tone="accent">Admin</Badge> : null}
          <Badge tone={statusTones[account.status]}>{account.status}</Badge>
        </span>
      }
    >
      <dl className="facts">
        <dt>Wallet</dt>
        <dd>
          <Copyable text={account.wallet_address} what="wallet address" />
        </dd>
        <dt>E-mail</dt>
        <dd>{account.email || <span className="quiet">–</span>}</dd>
        {account.owner_account_id === null ? null : (
          <>
            <dt>Owner</dt>
            <dd>
              <Link to="/console/operator/accounts/$id" params={{ id: String(account.owner_account_id) }}>
                Account {account.owner_account_id}
              </Link>
              {account.billing_mode ? `: it spends ${spends[account.billing_mode]}` : ''}
            </dd>
          </>
        )}
        <dt>Created</dt>
        <dd>
          <Time at={account.created_at} />
        </dd>
        <dt>Sessions</dt>
        <dd>{sessions.open === 0 ? 'Signed in nowhere' : `${sessions.open} open`}</dd>
        <dt>Open calls</dt>
        <dd>
          {holds.open === 0 ? (
            'None'
          ) : (
            <>
              {holds.open}, which hold <Credits micro={holds.held_micro} />
              {holds.waiting > 0 ? ` (${holds.waiting} wait for a person)` : ''}
            </>
          )}
        </dd>
        <dt>Told of a low balance</dt>
        <dd>
          <Alert alert={alert} />
        </dd>
      </dl>
      <div className="row">
        {deeds(full).map((deed) => (
          <Button
            key={deed.path}
            small
            kind={deed.danger ? 'danger' : 'ordinary'}
            disabled={own && deed.locksOut}
            onClick={() => ask(deed)}
          >
            {deed.verb}
          </Button>
        ))}
        <Button small onClick={() => ask('alert')}>
          Change the low-balance threshold
        </Button>
      </div>
      {own ? (
        <p className="quiet small">This is your own account: what could lock you out is for another admin.</p>
      ) : null}
    </Card>
  )
}

function Alert({ alert }: { alert: FullAccount['alert'] }) {
  const below = alert.below_micro ?? alert.default_below_micro
  return (
    <>
      {below === 0 ? (
        'Never'
      ) : (
        <>
          below <Credits micro={below} />
        </>
      )}
      {alert.below_micro === null ? <span className="quiet"> (the setting for all)</span> : null}
    </>
  )
}
