import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, Credits, ErrorCard, Field, Notice } from '../../ui/parts.tsx'
import { refundStates } from './reasons.ts'
import { WentBack } from './went-back.tsx'

type Call = Reply<'/v1/calls', 'get'>['data'][number]
type Applied = Reply<'/v1/refunds/apply', 'post'>

const KEYS = ['/v1/calls', '/v1/refunds', 'balance']

/** Asks for the Credits of a failed call; the same call again gives the same refund. */
export function RefundDialog({ call, onClose }: { call: Call; onClose: () => void }) {
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  const apply = useMutation({
    mutationFn: () =>
      api<Applied>('/v1/refunds/apply', { method: 'POST', body: { call_id: call.call_id, reason: reason.trim() } }),
    onSuccess: () => Promise.all(KEYS.map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  })
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title="Refund a failed call">
      {apply.data ? (
        <Asked refund={apply.data.refund} onClose={onClose} />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            apply.mutate()
          }}
        >
          <p>
            Call {call.call_id} of {call.model} failed after <Credits micro={call.actual_amount_micro ?? 0} /> had been
            charged. They go back to the accounts that they came from.
          </p>
          {apply.error ? <ErrorCard error={apply.error} /> : null}
          <Field label="Why" hint="For the record, such as: the answer broke off.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                required
                pattern=".*\S.*"
                maxLength={500}
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            )}
          </Field>
          <footer>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={apply.isPending}>
              Ask for the refund
            </Button>
          </footer>
        </form>
      )}
    </Dialog>
  )
}

function Asked({ refund, onClose }: { refund: Applied['refund']; onClose: () => void }) {
  const { words, tone } = refundStates[refund.status]
  return (
    <>
      <Notice tone={tone} title={words}>
        <p>
          Refund {refund.id}: <Credits micro={refund.amount_micro} />
        </p>
      </Notice>
      {refund.status === 'completed' ? <WentBack callId={refund.call_id} /> : null}
      <footer>
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </footer>
    </>
  )
}
