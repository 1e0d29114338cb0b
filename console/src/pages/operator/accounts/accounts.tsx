import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Reply } from '../../../api/types.ts'
import { List, useList } from '../../../ui/list.tsx'
import { Badge, Button, Card, Credits, Empty, Field, PageHead, Table, Time } from '../../../ui/parts.tsx'
import { useFilters } from '../../../ui/search.ts'
import { AdminsOnly } from '../admins-only.tsx'
import { statusTones, whoIs } from './words.ts'
import '../operator.css'

type Line = Reply<'/v1/admin/accounts', 'get'>['data'][number]

const choices = [
  ['type', 'Kind', { owner: 'Owners', agent: 'Agents' }],
  ['status', 'Status', { active: 'Active', banned: 'Banned', deactivated: 'Deactivated' }],
  ['role', 'Role', { admin: 'Admins', user: 'Ordinary users' }],
] as const

/** Every account of this server: found by what is known of it. */
export const Accounts = () => (
  <AdminsOnly>
    <Found />
  </AdminsOnly>
)

function Found() {
  const [filters, change] = useFilters()
  const { query = '', type = '', status = '', role = '' } = filters
  const search = Object.fromEntries(Object.entries({ query, type, status, role }).filter(([, value]) => value !== ''))
  const list = useList<Line>('/v1/admin/accounts', search, { limit: 25 })
  return (
    <>
      <PageHead title="Accounts">Owners and Agents: what they have, what they did, and what may be done.</PageHead>
      <Card>
        <div className="filters">
          <Search key={query} query={query} onSearch={(next) => change({ query: next })} />
          {choices.map(([name, label, options]) => (
            <Field key={name} label={label}>
              {(ids) => (
                <select
                  {...ids}
                  className="input"
                  value={filters[name] ?? ''}
                  onChange={(event) => change({ [name]: event.target.value })}
                >
                  <option value="">All</option>
                  {Object.entries(options).map(([value, words]) => (
                    <option key={value} value={value}>
                      {words}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          ))}
        </div>
        <List
          list={list}
          empty={
            <Empty title="No account matches">
              <p>Search by id, or by the beginning of a wallet, an e-mail address or a word of a label.</p>
              <Button onClick={() => change({ query: '', type: '', status: '', role: '' })}>Show all accounts</Button>
            </Empty>
          }
        >
          {(rows) => <Lines rows={rows} />}
        </List>
      </Card>
    </>
  )
}

function Search({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const [typed, setTyped] = useState(query)
  return (
    <search>
      <form
        className="filter-search"
        onSubmit={(event) => {
          event.preventDefault()
          onSearch(typed.trim())
        }}
      >
        <Field label="Id, wallet, e-mail or label">
          {(ids) => (
            <input
              {...ids}
              type="search"
              className="input"
              maxLength={254}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <Button type="submit">Search</Button>
      </form>
    </search>
  )
}

function Lines({ rows }: { rows: readonly Line[] }) {
  return (
    <Table
      caption="Accounts"
      columns={[
        'Account',
        'Kind',
        'Status',
        'Owner',
        { number: 'Available' },
        { number: 'Held' },
        'Last call',
        'Created',
      ]}
    >
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <Link to="/console/operator/accounts/$id" params={{ id: String(row.id) }}>
              {whoIs(row)}
            </Link>
            <div className="quiet small">Account {row.id}</div>
          </td>
          <td>
            {row.account_type === 'owner' ? 'Owner' : 'Agent'}{' '}
            {row.role === 'admin' ? <Badge tone="accent">Admin</Badge> : null}
          </td>
          <td>
            <Badge tone={statusTones[row.status]}>{row.status}</Badge>
          </td>
          <td>
            {row.owner_account_id === null ? (
              <span className="quiet">–</span>
            ) : (
              <Link to="/console/operator/accounts/$id" params={{ id: String(row.owner_account_id) }}>
                {row.owner_account_id}
              </Link>
            )}
          </td>
          <td className="number">
            <Credits micro={row.available_micro} />
          </td>
          <td className="number">
            <Credits micro={row.held_micro} />
          </td>
          <td>{row.last_call_at ? <Time at={row.last_call_at} relative /> : <span className="quiet">Never</span>}</td>
          <td>
            <Time at={row.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
