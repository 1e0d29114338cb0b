import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'
import { ENDPOINTS, type Endpoint } from './endpoint.ts'

const overlaps = [
  [86_400, 'for a day more'],
  [3_600, 'for an hour more'],
  [0, 'no more: it has leaked'],
] as const

/** Gives an endpoint a new secret; the old one may sign along for a while, so that no message is lost. */
export function RotateDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const queries = useQueryClient()
  const [overlap, setOverlap] = useState('86400')
  const rotate = useMutation({
    mutationFn: () =>
      api<Reply<'/v1/me/webhooks/{id}/rotate-secret', 'post'>>(`${ENDPOINTS}/${endpoint.id}/rotate-secret`, {
        method: 'POST',
        body: { overlap_seconds: Number(overlap) },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [ENDPOINTS] }),
  })
  const secret = rotate.data?.data.secret
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={secret ? 'Store the signing secret' : 'A new secret'}
      modalOnly={secret !== undefined}
    >
      {secret ? (
        <ShownOnce secret={secret} what="signing secret" variable="WEBHOOK_SECRET" onClose={onClose} />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            rotate.mutate()
          }}
        >
          {rotate.error ? <ErrorCard error={rotate.error} /> : null}
          <Field label="The old one signs" hint="Meanwhile a receiver with either one takes the messages.">
            {(ids) => (
              <select {...ids} className="input" value={overlap} onChange={(event) => setOverlap(event.target.value)}>
                {overlaps.map(([seconds, words]) => (
                  <option key={seconds} value={seconds}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <footer>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={rotate.isPending}>
              Make the new secret
            </Button>
          </footer>
        </form>
      )}
    </Dialog>
  )
}
