import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard } from '../../ui/parts.tsx'
import { DELIVERIES, ENDPOINTS, type Endpoint } from './endpoint.ts'

/** Takes an endpoint away, having said what goes with it. */
export function RemoveDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => api(`${ENDPOINTS}/${endpoint.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await Promise.all([ENDPOINTS, DELIVERIES].map((key) => queries.invalidateQueries({ queryKey: [key] })))
      onClose()
    },
  })
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title="Remove this endpoint">
      <p>Nothing is sent to it any more, and its log goes with it. To stop it for a while, turn it off instead.</p>
      <p className="mono">{endpoint.url}</p>
      {remove.error ? <ErrorCard error={remove.error} /> : null}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
          Remove it
        </Button>
      </footer>
    </Dialog>
  )
}
