import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { toMicro } from '../../ui/format.ts'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'

/** Makes a key and shows its secret, once. */
export function MakeKeyDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [daily, setDaily] = useState('')
  const dailyMicro = daily.trim() === '' ? undefined : toMicro(daily)
  const wrong = daily.trim() !== '' && dailyMicro === undefined
  const make = useMutation({
    mutationFn: () =>
      api<Reply<'/v1/me/api-keys', 'post'>>('/v1/me/api-keys', {
        method: 'POST',
        body: {
          ...(name.trim() === '' ? {} : { name: name.trim() }),
          ...(dailyMicro === undefined ? {} : { budget: { daily_micro: Number(dailyMicro) } }),
        },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  })
  const close = () => {
    onClose()
    make.reset()
    setName('')
    setDaily('')
  }
  const secret = make.data?.api_key
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => (next ? undefined : close())}
      title={secret ? 'Store your new key' : 'New key'}
      modalOnly={secret !== undefined}
    >
      {secret === undefined ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            if (!wrong) make.mutate()
          }}
        >
          {make.error ? <ErrorCard error={make.error} /> : null}
          <Field label="Name" hint="What will use it, for you to recognise it.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                value={name}
                maxLength={100}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field
            label="Credits a day, at most"
            hint="Empty: no limit of its own."
            problem={wrong ? 'An amount such as 5 or 0.25.' : undefined}
          >
            {(ids) => (
              <input
                {...ids}
                className="input"
                inputMode="decimal"
                value={daily}
                onChange={(event) => setDaily(event.target.value)}
              />
            )}
          </Field>
          <footer>
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" kind="primary" busy={make.isPending}>
              Create key
            </Button>
          </footer>
        </form>
      ) : (
        <ShownOnce secret={secret} what="API key" variable="FAREBOX_API_KEY" onClose={close} />
      )}
    </Dialog>
  )
}
