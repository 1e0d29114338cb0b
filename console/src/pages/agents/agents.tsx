import { useState } from 'react'
import type { Reply } from '../../api/types.ts'
import { List, useList } from '../../ui/list.tsx'
import { Badge, Button, Card, Copyable, Credits, Empty, PageHead } from '../../ui/parts.tsx'
import { AgentDialog } from './agent-dialog.tsx'
import { DelegationDialog } from './delegation-dialog.tsx'
import { UnlinkDialog } from './unlink-dialog.tsx'

/** An Agent of this owner. */
export type Agent = Reply<'/v1/me/agents', 'get'>['data'][number]

const modes = {
  self_only: 'Its own Credits only',
  self_then_owner: 'Its own Credits, then yours',
  owner_only: 'Your Credits only',
} as const

type Asking = { readonly what: 'link' } | { readonly what: 'change' | 'unlink' | 'delegate'; readonly agent: Agent }

/** The Agents that this owner pays for, each within its budget. */
export function Agents() {
  const list = useList<Agent>('/v1/me/agents')
  const [asking, setAsking] = useState<Asking>()
  const close = () => setAsking(undefined)
  return (
    <>
      <PageHead
        title="Agents"
        actions={
          <Button kind="primary" onClick={() => setAsking({ what: 'link' })}>
            Link an Agent
          </Button>
        }
      >
        A program with a wallet of its own. Linked to you, it may spend your Credits, as far as its budget goes.
      </PageHead>
      <List
        list={list}
        empty={
          <Card>
            <Empty title="No Agent is linked">
              <p>Give the address of its wallet. Nothing is asked of it: only your money is at stake.</p>
              <Button kind="primary" onClick={() => setAsking({ what: 'link' })}>
                Link your first Agent
              </Button>
            </Empty>
          </Card>
        }
      >
        {(agents) => agents.map((agent) => <AgentCard key={agent.id} agent={agent} ask={setAsking} />)}
      </List>
      {asking?.what === 'link' ? <AgentDialog onClose={close} /> : null}
      {asking?.what === 'change' ? <AgentDialog agent={asking.agent} onClose={close} /> : null}
      {asking?.what === 'unlink' ? <UnlinkDialog agent={asking.agent} onClose={close} /> : null}
      {asking?.what === 'delegate' ? <DelegationDialog agent={asking.agent} onClose={close} /> : null}
    </>
  )
}

function AgentCard({ agent, ask }: { agent: Agent; ask: (asking: Asking) => void }) {
  return (
    <Card
      repeated
      title={agent.label || `Agent ${agent.id}`}
      actions={
        agent.funding_paused ? <Badge tone="bad">Your money is stopped</Badge> : <Badge tone="good">Active</Badge>
      }
    >
      <dl className="facts">
        <dt>Wallet</dt>
        <dd>
          <Copyable text={agent.wallet_address} what="wallet address" />
        </dd>
        <dt>Spends</dt>
        <dd>{modes[agent.billing_mode]}</dd>
        <Windows agent={agent} />
      </dl>
      <div className="row">
        <Button small onClick={() => ask({ what: 'change', agent })}>
          Change
        </Button>
        <Button small onClick={() => ask({ what: 'delegate', agent })}>
          Let it link a wallet of mine
        </Button>
        <Button small kind="danger" onClick={() => ask({ what: 'unlink', agent })}>
          Unlink
        </Button>
      </div>
    </Card>
  )
}

/** What the owner paid for it in each window, beside the limit where there is one; the limit that binds first is said so. */
function Windows({ agent: { budget } }: { agent: Agent }) {
  const rows = [
    ['Today', budget.windows.daily, budget.daily_micro],
    ['This month', budget.windows.monthly, budget.monthly_micro],
    ['In all', budget.windows.total, budget.total_micro],
  ] as const
  const left = rows.map(([, window, limit]) =>
    limit === null ? Number.POSITIVE_INFINITY : limit - window.spent_micro - window.held_micro,
  )
  const binding = Math.min(...left)
  return (
    <>
      {budget.per_call_micro === null ? null : (
        <>
          <dt>A call</dt>
          <dd>
            at most <Credits micro={budget.per_call_micro} />
          </dd>
        </>
      )}
      {rows.map(([words, window, limit], n) => (
        <WindowRow
          key={words}
          words={words}
          spent={window.spent_micro}
          held={window.held_micro}
          limit={limit}
          binds={left[n] === binding && binding !== Number.POSITIVE_INFINITY}
        />
      ))}
    </>
  )
}

function WindowRow({
  words,
  spent,
  held,
  limit,
  binds,
}: {
  words: string
  spent: number
  held: number
  limit: number | null
  binds: boolean
}) {
  return (
    <>
      <dt>{words}</dt>
      <dd>
        <Credits micro={spent} />
        {held > 0 ? (
          <span className="quiet">
            {' '}
            and <Credits micro={held} /> held
          </span>
        ) : null}
        {limit === null ? null : (
          <>
            {' '}
            of <Credits micro={limit} /> {binds ? <Badge tone="accent">Binds first</Badge> : null}
          </>
        )}
      </dd>
    </>
  )
}
