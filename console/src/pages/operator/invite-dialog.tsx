import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'

type Made = Reply<'/v1/admin/invitations', 'post'>

const DAY_MS = 86_400_000
/** As `farebox owner invite` does, unless told otherwise. */
const DAYS_DEFAULT = 30
const USES_MAX = 100_000

const dayAhead = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** Makes an invitation and shows its code, once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [uses, setUses] = useState('1')
  const [expires, setExpires] = useState(() => dayAhead(DAYS_DEFAULT))
  const [note, setNote] = useState('')
  const make = useMutation({
    mutationFn: () =>
      api<Made>('/v1/admin/invitations', {
        method: 'POST',
        body: {
          max_uses: Number(uses),
          expires_at: expires ? `${expires}T00:00:00Z` : null,
          note: note.trim(),
        },
      }),
    onSuccess: () =>
      Promise.all(
        ['/v1/admin/invitations', '/v1/admin/audit-log'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      ),
  })
  const made = make.data?.data
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={made ? 'Pass the code on' : 'New invitation'}
      modalOnly={made !== undefined}
    >
      {made ? (
        <ShownOnce secret={made.code} what="Invitation code" onClose={onClose} />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            if (!make.isPending) make.mutate()
          }}
        >
          <p>Whoever has the code gets an owner account with it, so pass it on to the right people only.</p>
          {make.error ? <ErrorCard error={make.error} /> : null}
          <Field label="Accounts" hint="How many it admits.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                type="number"
                required
                min={1}
                max={USES_MAX}
                value={uses}
                onChange={(event) => setUses(event.target.value)}
              />
            )}
          </Field>
          <Field label="Expires on" hint="When that day begins in UTC. Empty: never.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                type="date"
                min={dayAhead(1)}
                value={expires}
                onChange={(event) => setExpires(event.target.value)}
              />
            )}
          </Field>
          <Field label="For" hint="A note for you. Nothing is checked against it.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                maxLength={254}
                value={note}
                onChange={(event) => setNote(event.target.value)}
              />
            )}
          </Field>
          <footer>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={make.isPending}>
              Make the invitation
            </Button>
          </footer>
        </form>
      )}
    </Dialog>
  )
}
