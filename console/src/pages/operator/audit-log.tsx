import { useState } from 'react'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { List, useList } from '../../ui/list.tsx'
import { Button, Card, CodeBlock, Copyable, Empty, Field, PageHead, Table, Time } from '../../ui/parts.tsx'
import { useFilters } from '../../ui/search.ts'
import { actions } from './actions.ts'
import { AdminsOnly } from './admins-only.tsx'
import { LogCheck } from './log-check.tsx'
import './operator.css'

type Entry = Reply<'/v1/admin/audit-log', 'get'>['data'][number]

/** Who did what, to what, when and why. */
export const AuditLog = () => (
  <AdminsOnly>
    <Log />
  </AdminsOnly>
)

function Log() {
  const [filters, change] = useFilters()
  const { actor = '', action = '', target = '' } = filters
  const search = Object.fromEntries(Object.entries({ actor, action, target }).filter(([, value]) => value !== ''))
  const list = useList<Entry>('/v1/admin/audit-log', search)
  const [shown, setShown] = useState<Entry>()
  return (
    <>
      <PageHead title="Audit log">
        What operators, accounts and the server did. Nothing in it can be changed: each entry is chained to the one
        before it.
      </PageHead>
      <LogCheck />
      <Card>
        <div className="filters">
          <Typed
            key={`actor ${actor}`}
            label="Who"
            hint="operator:ada"
            value={actor}
            onChange={(next) => change({ actor: next })}
          />
          <Typed
            key={`target ${target}`}
            label="To what"
            hint="account:7"
            pattern="[a-z_]+:.+"
            value={target}
            onChange={(next) => change({ target: next })}
          />
          <Field label="Action">
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={action}
                onChange={(event) => change({ action: event.target.value })}
              >
                <option value="">All</option>
                {actions.map((name) => (
                  <option key={name} value={name}>
                    {inWords(name)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <List
          list={list}
          empty={
            <Empty title="No entry matches">
              <Button onClick={() => change({ actor: '', action: '', target: '' })}>Show all entries</Button>
            </Empty>
          }
        >
          {(rows) => <Entries rows={rows} onShow={setShown} />}
        </List>
      </Card>
      {shown ? <EntryDialog entry={shown} onClose={() => setShown(undefined)} /> : null}
    </>
  )
}

/** A filter that is typed, and counts once Enter is pressed or it is left. */
function Typed({
  label,
  hint,
  value,
  pattern,
  onChange,
}: {
  label: string
  hint: string
  value: string
  pattern?: string
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useState(value)
  const wrong = pattern !== undefined && typed.trim() !== '' && !new RegExp(`^${pattern}$`).test(typed.trim())
  const take = () => {
    if (!wrong && typed.trim() !== value) onChange(typed.trim())
  }
  return (
    <Field label={label} problem={wrong ? `Such as ${hint}.` : undefined}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          placeholder={hint}
          maxLength={200}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={take}
          onKeyDown={(event) => (event.key === 'Enter' ? take() : undefined)}
        />
      )}
    </Field>
  )
}

function Entries({ rows, onShow }: { rows: readonly Entry[]; onShow: (entry: Entry) => void }) {
  return (
    <Table caption="Audit log" columns={['When', 'Who', 'What', 'To what', 'Reason', 'Entry']}>
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <Time at={row.at} />
          </td>
          <td>{actorOf(row)}</td>
          <td>{inWords(row.action)}</td>
          <td>
            {row.target_kind}:{row.target_id}
          </td>
          <td>{row.reason ?? <span className="quiet">–</span>}</td>
          <td>
            <Button small aria-label={`Show entry ${row.id}`} onClick={() => onShow(row)}>
              {row.id}
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function EntryDialog({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title={`Entry ${entry.id}`}>
      <dl className="facts">
        <dt>When</dt>
        <dd>
          <code>{entry.at}</code>
        </dd>
        <dt>Who</dt>
        <dd>{actorOf(entry)}</dd>
        <dt>What</dt>
        <dd>
          <code>{entry.action}</code>
        </dd>
        <dt>To what</dt>
        <dd>
          {entry.target_kind}:{entry.target_id}
        </dd>
        <dt>Reason</dt>
        <dd>{entry.reason ?? '–'}</dd>
        <dt>Request</dt>
        <dd>
          <Copyable text={entry.request_id ?? ''} what="request id" />
        </dd>
        <dt>Hash</dt>
        <dd>
          <Copyable text={entry.hash} what="hash" />
        </dd>
      </dl>
      {entry.before === null ? null : <Value title="Before" value={entry.before} />}
      {entry.after === null ? null : <Value title="After" value={entry.after} />}
      <footer>
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </footer>
    </Dialog>
  )
}

const Value = ({ title, value }: { title: string; value: unknown }) => (
  <div className="stack-tight">
    <h3>{title}</h3>
    <CodeBlock text={JSON.stringify(value, null, 2)} what={title} />
  </div>
)

const actorOf = ({ actor, actor_kind: kind }: Entry): string => (kind === 'operator' ? actor : `${kind}:${actor}`)

/** `change_role.account` as people say it. */
const inWords = (action: string): string => action.replace('.', ' ').replaceAll('_', ' ')
