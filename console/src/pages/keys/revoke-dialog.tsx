import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import type { Key } from './keys.tsx'

/** Takes a key back, or all of them, once its name was typed. */
export function RevokeKeyDialog({ what, onClose }: { what: Key | 'all'; onClose: () => void }) {
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const wanted = what === 'all' ? 'revoke all' : what.name || what.last4
  const revoke = useMutation({
    mutationFn: () => api(what === 'all' ? '/v1/me/api-keys' : `/v1/me/api-keys/${what.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['keys'] })
      onClose()
    },
  })
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={what === 'all' ? 'Revoke all keys' : 'Revoke this key'}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (typed.trim() === wanted) revoke.mutate()
        }}
      >
        <p>
          {what === 'all' ? 'Every program with a key of this account' : 'Every program with this key'} is refused from
          that moment on. This cannot be undone. Browser sessions stay.
        </p>
        {revoke.error ? <ErrorCard error={revoke.error} /> : null}
        <Field label={`Type “${wanted}” to confirm`}>
          {(ids) => (
            <input
              {...ids}
              className="input"
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger" busy={revoke.isPending} disabled={typed.trim() !== wanted}>
            {what === 'all' ? 'Revoke all keys' : 'Revoke this key'}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
