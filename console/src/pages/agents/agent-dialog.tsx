import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { fromMicro, toMicro } from '../../ui/format.ts'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import type { Agent } from './agents.tsx'

const limits = [
  ['per_call_micro', 'Credits a call, at most'],
  ['daily_micro', 'Credits a day, at most'],
  ['monthly_micro', 'Credits a month, at most'],
  ['total_micro', 'Credits in all, at most'],
] as const
type Limit = (typeof limits)[number][0]

const asText = (micro: number | null | undefined): string => (micro == null ? '' : fromMicro(micro).replaceAll(',', ''))

/** Links an Agent, or changes what a linked one may do. Empty budgets are no limits. */
export function AgentDialog({ agent, onClose }: { agent?: Agent; onClose: () => void }) {
  const queries = useQueryClient()
  const [address, setAddress] = useState('')
  const [label, setLabel] = useState(agent?.label ?? '')
  const [mode, setMode] = useState<string>(agent?.billing_mode ?? 'self_then_owner')
  const [paused, setPaused] = useState(agent?.funding_paused ?? false)
  const [budget, setBudget] = useState<Record<Limit, string>>({
    per_call_micro: asText(agent?.budget.per_call_micro),
    daily_micro: asText(agent?.budget.daily_micro),
    monthly_micro: asText(agent?.budget.monthly_micro),
    total_micro: asText(agent?.budget.total_micro),
  })
  const wrong = (name: Limit): boolean => budget[name].trim() !== '' && toMicro(budget[name]) === undefined
  const wrongAddress = agent === undefined && address !== '' && !/^0x[0-9a-fA-F]{40}$/.test(address.trim())
  const save = useMutation({
    mutationFn: () => {
      const micro = Object.fromEntries(
        limits.map(([name]) => [name, budget[name].trim() === '' ? null : Number(toMicro(budget[name]))]),
      )
      const body = { label: label.trim(), billing_mode: mode, budget: micro }
      return agent === undefined
        ? api('/v1/me/agents', { method: 'POST', body: { ...body, agent_wallet_address: address.trim() } })
        : api(`/v1/me/agents/${agent.id}`, { method: 'PATCH', body: { ...body, funding_paused: paused } })
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['/v1/me/agents'] })
      onClose()
    },
  })
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={agent ? `Change ${agent.label || `Agent ${agent.id}`}` : 'Link an Agent'}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!wrongAddress && !limits.some(([name]) => wrong(name))) save.mutate()
        }}
      >
        {save.error ? <ErrorCard error={save.error} /> : null}
        {agent ? null : (
          <Field label="Its wallet address" problem={wrongAddress ? '0x and 40 hexadecimal digits.' : undefined}>
            {(ids) => (
              <input
                {...ids}
                className="input mono"
                required
                autoComplete="off"
                spellCheck={false}
                value={address}
                onChange={(event) => setAddress(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label="Label" hint="For you to recognise it.">
          {(ids) => (
            <input
              {...ids}
              className="input"
              maxLength={100}
              value={label}
              onChange={(event) => setLabel(event.target.value)}
            />
          )}
        </Field>
        <Field label="Spends">
          {(ids) => (
            <select {...ids} className="input" value={mode} onChange={(event) => setMode(event.target.value)}>
              <option value="self_then_owner">Its own Credits, then yours</option>
              <option value="owner_only">Your Credits only</option>
              <option value="self_only">Its own Credits only</option>
            </select>
          )}
        </Field>
        <div className="grid-cards">
          {limits.map(([name, words]) => (
            <Field key={name} label={words} problem={wrong(name) ? 'An amount such as 5 or 0.25.' : undefined}>
              {(ids) => (
                <input
                  {...ids}
                  className="input"
                  inputMode="decimal"
                  value={budget[name]}
                  placeholder="No limit"
                  onChange={(event) => setBudget({ ...budget, [name]: event.target.value })}
                />
              )}
            </Field>
          ))}
        </div>
        {agent ? (
          <label className="row">
            <input type="checkbox" checked={paused} onChange={(event) => setPaused(event.target.checked)} />
            Stop my money now: its calls are refused your Credits until this is taken back
          </label>
        ) : null}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {agent ? 'Save' : 'Link'}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
