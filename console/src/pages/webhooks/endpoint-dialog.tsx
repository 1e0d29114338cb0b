import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'
import { ENDPOINTS, type Endpoint } from './endpoint.ts'

/** Makes an endpoint, whose secret is then shown once, or changes one. */
export function EndpointDialog({ endpoint, onClose }: { endpoint?: Endpoint; onClose: () => void }) {
  const queries = useQueryClient()
  const [url, setUrl] = useState(endpoint?.url ?? '')
  const [description, setDescription] = useState(endpoint?.description ?? '')
  const [events, setEvents] = useState<readonly string[]>(endpoint?.events ?? [])
  const save = useMutation({
    mutationFn: async () => {
      const body = { url: url.trim(), description: description.trim(), events }
      if (endpoint) {
        await api(`${ENDPOINTS}/${endpoint.id}`, { method: 'PATCH', body })
        return undefined
      }
      const made = await api<Reply<'/v1/me/webhooks', 'post'>>(ENDPOINTS, { method: 'POST', body })
      return made.data.secret
    },
    onSuccess: async (secret) => {
      await queries.invalidateQueries({ queryKey: [ENDPOINTS] })
      if (secret === undefined) onClose()
    },
  })
  const title = save.data ? 'Store the signing secret' : endpoint ? 'Change the endpoint' : 'New endpoint'
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={title}
      modalOnly={save.data !== undefined}
    >
      {save.data ? (
        <ShownOnce secret={save.data} what="signing secret" variable="WEBHOOK_SECRET" onClose={onClose} />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            save.mutate()
          }}
        >
          {save.error ? <ErrorCard error={save.error} /> : null}
          <Field label="URL" hint="https, on the public internet.">
            {(ids) => (
              <input
                {...ids}
                className="input mono"
                type="url"
                required
                autoComplete="off"
                value={url}
                onChange={(event) => setUrl(event.target.value)}
              />
            )}
          </Field>
          <Field label="Description" hint="For you to recognise it.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                maxLength={100}
                value={description}
                onChange={(event) => setDescription(event.target.value)}
              />
            )}
          </Field>
          <EventChoice chosen={events} onChange={setEvents} />
          <footer>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={save.isPending}>
              {endpoint ? 'Save' : 'Create endpoint'}
            </Button>
          </footer>
        </form>
      )}
    </Dialog>
  )
}

function EventChoice({
  chosen,
  onChange,
}: {
  chosen: readonly string[]
  onChange: (events: readonly string[]) => void
}) {
  const types = useQuery({
    queryKey: ['/v1/me/webhooks/event-types'],
    queryFn: ({ signal }) =>
      api<Reply<'/v1/me/webhooks/event-types', 'get'>>('/v1/me/webhooks/event-types', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <fieldset className="stack-tight field">
      <legend>Hears of</legend>
      <span className="hint">None chosen: everything, also what is added later.</span>
      <Answer query={types} lines={4}>
        {({ data }) =>
          data.map(({ type, description }) => (
            <label key={type} className="choice">
              <input
                type="checkbox"
                checked={chosen.includes(type)}
                onChange={(event) =>
                  onChange(event.target.checked ? [...chosen, type] : chosen.filter((one) => one !== type))
                }
              />
              <span>
                <code>{type}</code> <span className="small quiet">{description}</span>
              </span>
            </label>
          ))
        }
      </Answer>
    </fieldset>
  )
}
