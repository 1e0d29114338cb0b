import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard, Field, Notice } from '../../ui/parts.tsx'
import './operator.css'

/** Something that an admin does: what it is called, what it means, and where it is asked for. */
export interface Deed {
  readonly title: string
  /** What happens, in plain words. */
  readonly means: ReactNode
  readonly verb: string
  readonly danger?: boolean
  readonly path: string
  /** What is sent besides the reason. */
  readonly body?: Readonly<Record<string, unknown>>
  /** What is said once it is done, or made of the answer. */
  readonly done: string | ((answer: unknown) => string)
}

/** Longest reason that the server keeps. */
const REASON_LENGTH_MAX = 500

/** Asks for the reason of a deed, does it, and says that it was done. `children`: what else there is to fill in. */
export function ReasonDialog({
  deed,
  refresh,
  onClose,
  onDone,
  ready = true,
  children,
}: {
  deed: Deed
  /** Paths whose answers are old then. */
  refresh: readonly string[]
  onClose: () => void
  onDone: (said: string) => void
  /** False while something else is missing. */
  ready?: boolean
  children?: ReactNode
}) {
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  // a second press may come before the first one is drawn
  const sent = useRef(false)
  const doing = useMutation({
    mutationFn: () => api(deed.path, { method: 'POST', body: { ...deed.body, reason: reason.trim() } }),
    onSuccess: (answer) => {
      for (const key of refresh) void queries.invalidateQueries({ queryKey: [key] })
      onDone(typeof deed.done === 'function' ? deed.done(answer) : deed.done)
      onClose()
    },
    onError: () => {
      sent.current = false
    },
  })
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title={deed.title}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!ready || sent.current) return
          sent.current = true
          doing.mutate()
        }}
      >
        <p>{deed.means}</p>
        {doing.error ? <ErrorCard error={doing.error} /> : null}
        {children}
        <ReasonField reason={reason} onChange={setReason} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={deed.danger ? 'danger' : 'primary'}
            busy={doing.isPending}
            disabled={!ready || reason.trim() === ''}
          >
            {deed.verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

/** Why something is done. */
export function ReasonField({ reason, onChange }: { reason: string; onChange: (reason: string) => void }) {
  return (
    <Field label="Reason" hint="It stays in the audit log, beside your account.">
      {(ids) => (
        <input
          {...ids}
          className="input"
          required
          maxLength={REASON_LENGTH_MAX}
          value={reason}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

/** What was done last, for the eye and for the screen reader. */
export function Said({ text }: { text: string }) {
  return (
    <div role="status" className="said">
      {text === '' ? null : <Notice tone="good">{text}</Notice>}
    </div>
  )
}
