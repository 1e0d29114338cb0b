import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ErrorCard } from '../../ui/parts.tsx'
import type { Agent } from './agents.tsx'

/** Takes the link away, having said what stays. */
export function UnlinkDialog({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const queries = useQueryClient()
  const unlink = useMutation({
    mutationFn: () => api(`/v1/me/agents/${agent.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['/v1/me/agents'] })
      onClose()
    },
  })
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={`Unlink ${agent.label || `Agent ${agent.id}`}`}
    >
      <p>It spends nothing of yours from then on. Calls that you paid for stay in your usage and settlements.</p>
      {unlink.error ? <ErrorCard error={unlink.error} /> : null}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" busy={unlink.isPending} onClick={() => unlink.mutate()}>
          Unlink
        </Button>
      </footer>
    </Dialog>
  )
}
