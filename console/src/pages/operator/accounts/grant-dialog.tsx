import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { ApiError } from '../../../api/error.ts'
import type { Reply } from '../../../api/types.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { fromMicro, toMicro } from '../../../ui/format.ts'
import { Button, Credits, ErrorCard, Field, Notice } from '../../../ui/parts.tsx'
import { ReasonField } from '../reason-dialog.tsx'
import type { FullAccount } from './account.tsx'
import { whoIs } from './words.ts'

type Given = Reply<'/v1/admin/accounts/{id}/grants', 'post'>

const PATHS = ['/v1/admin/accounts', '/v1/admin/audit-log', 'balance']
const DAY_MS = 86_400_000

/**
 * Gives Credits in two steps: what is given, then what the balance becomes. One key stands for the whole dialog, so that
 * neither a second press nor a repeat after a lost answer gives twice.
 */
export function GrantDialog({
  full,
  onClose,
  onDone,
}: {
  full: FullAccount
  onClose: () => void
  onDone: (said: string) => void
}) {
  const { account } = full
  const queries = useQueryClient()
  const [key] = useState(() => crypto.randomUUID())
  const [wanted, setWanted] = useState<Wanted>({ credits: '', bucket: 'promo', expires: '', reason: '' })
  const [sure, setSure] = useState(false)
  const micro = toMicro(wanted.credits) ?? 0n
  const giving = useMutation({
    mutationFn: () =>
      api<Given>(`/v1/admin/accounts/${account.id}/grants`, {
        method: 'POST',
        headers: { 'idempotency-key': key },
        body: {
          amount_micro: Number(micro),
          bucket: wanted.bucket,
          reason: wanted.reason.trim(),
          ...(wanted.expires ? { expires_at: `${wanted.expires}T00:00:00Z` } : {}),
        },
      }),
    onSuccess: ({ data }) => {
      for (const path of [...PATHS, `/v1/admin/accounts/${account.id}/grants`])
        void queries.invalidateQueries({ queryKey: [path] })
      onDone(`${fromMicro(data.amount_micro)} Credits were given to account ${account.id} (grant ${data.id}).`)
      onClose()
    },
  })
  return (
    <Dialog
      open
      onOpenChange={(next) => (next || giving.isPending ? undefined : onClose())}
      title={`Give Credits to account ${account.id}`}
    >
      {sure ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            if (!giving.isPending) giving.mutate()
          }}
        >
          <Becomes full={full} micro={micro} wanted={wanted} />
          {giving.error ? <Failed error={giving.error} /> : null}
          <footer>
            <Button disabled={giving.isPending} onClick={() => setSure(false)}>
              Back
            </Button>
            <Button type="submit" kind="primary" busy={giving.isPending} ref={(button) => void button?.focus()}>
              Give {fromMicro(micro)} Credits
            </Button>
          </footer>
        </form>
      ) : (
        <Form wanted={wanted} onChange={setWanted} onCancel={onClose} onReady={() => setSure(true)} />
      )}
    </Dialog>
  )
}

interface Wanted {
  readonly credits: string
  readonly bucket: 'promo' | 'bonus'
  /** A day, or "". */
  readonly expires: string
  readonly reason: string
}

function Form({
  wanted,
  onChange,
  onCancel,
  onReady,
}: {
  wanted: Wanted
  onChange: (wanted: Wanted) => void
  onCancel: () => void
  onReady: () => void
}) {
  const micro = toMicro(wanted.credits)
  const wrong = wanted.credits.trim() !== '' && (micro === undefined || micro === 0n)
  const change = (part: Partial<Wanted>) => onChange({ ...wanted, ...part })
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (micro !== undefined && micro > 0n) onReady()
      }}
    >
      <p>They can be spent at once. A grant cannot be taken back.</p>
      <Field label="Credits" problem={wrong ? 'An amount such as 5 or 0.25, above 0.' : undefined}>
        {(ids) => (
          <input
            {...ids}
            className="input"
            inputMode="decimal"
            required
            value={wanted.credits}
            onChange={(event) => change({ credits: event.target.value })}
          />
        )}
      </Field>
      <Field label="Kind" hint="Promo Credits are spent before bonus Credits, both before purchased ones.">
        {(ids) => (
          <select
            {...ids}
            className="input"
            value={wanted.bucket}
            onChange={(event) => change({ bucket: event.target.value as Wanted['bucket'] })}
          >
            <option value="promo">Promo</option>
            <option value="bonus">Bonus</option>
          </select>
        )}
      </Field>
      <Field label="Expire on" hint="When that day begins in UTC. Empty: never.">
        {(ids) => (
          <input
            {...ids}
            type="date"
            className="input"
            min={new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)}
            value={wanted.expires}
            onChange={(event) => change({ expires: event.target.value })}
          />
        )}
      </Field>
      <ReasonField reason={wanted.reason} onChange={(reason) => change({ reason })} />
      <footer>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={wrong || wanted.reason.trim() === ''}>
          Look it over
        </Button>
      </footer>
    </form>
  )
}

/** Beyond this many times what it has, a grant is likely a slip. */
const UNUSUAL_TIMES = 10n
const UNUSUAL_MICRO = 1_000_000_000n

function Becomes({ full, micro, wanted }: { full: FullAccount; micro: bigint; wanted: Wanted }) {
  const { account } = full
  const balance = BigInt(full.balance_micro)
  const unusual = micro >= UNUSUAL_MICRO && micro > balance * UNUSUAL_TIMES
  return (
    <>
      <p>
        <strong>{fromMicro(micro)} Credits</strong> go to account {account.id}, {whoIs(account)}, as {wanted.bucket}{' '}
        Credits{wanted.expires ? ` that expire on ${wanted.expires}` : ' that never expire'}. Reason:{' '}
        {wanted.reason.trim()}
      </p>
      <div className="becomes">
        <span>
          <span className="quiet">Balance now </span>
          <Credits micro={balance} />
        </span>
        <span>
          <span className="quiet">Balance then </span>
          <strong>
            <Credits micro={balance + micro} />
          </strong>
        </span>
      </div>
      {account.status === 'active' ? null : (
        <Notice tone="warn" title={`The account is ${account.status}`}>
          <p>It cannot spend anything until it is active again.</p>
        </Notice>
      )}
      {unusual ? (
        <Notice tone="warn" title="This is a lot">
          <p>It is more than ten times what the account has. Is the decimal point where it should be?</p>
        </Notice>
      ) : null}
    </>
  )
}

function Failed({ error }: { error: Error }) {
  if (!(error instanceof ApiError) || error.code !== 'idempotency_conflict') return <ErrorCard error={error} />
  return (
    <Notice tone="bad" title="Your first attempt had arrived">
      <p>
        The Credits of the first attempt were given. What you changed since was not: nothing was given now. Close this
        and look at the grants.
      </p>
    </Notice>
  )
}
