import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { useSession } from '../../session/use-session.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { fromMicro } from '../../ui/format.ts'
import { Button, Credits, ErrorCard } from '../../ui/parts.tsx'
import type { Settlement } from './settlements.tsx'

/** Says what is paid by whom, and has it paid: all parts of it, or nothing. */
export function AuthorizeDialog({ item, onClose }: { item: Settlement; onClose: () => void }) {
  const queries = useQueryClient()
  const state = useSession()
  const authorize = useMutation({
    mutationFn: () =>
      api(`/v1/credits/settlements/${encodeURIComponent(item.request_id)}/authorize`, { method: 'POST', body: {} }),
    onSuccess: async () => {
      await Promise.all(
        ['/v1/credits/settlements', 'balance'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      )
      onClose()
    },
  })
  const own = state.status === 'signed-in' ? state.account.id : 0
  const several = item.funding_accounts.length > 1
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title="Authorize this payment">
      <p>
        The call cost <Credits micro={item.actual_amount_micro} />. Of that{' '}
        <Credits micro={item.reserve_amount_micro} /> are held already and are charged now. Besides them are paid:
      </p>
      <ul>
        {item.funding_accounts.map((payer) => (
          <li key={payer.account_id}>
            {several ? 'about ' : ''}
            <Credits micro={partOf(item, payer.reserved_amount_micro)} /> by account {payer.account_id}
            {payer.account_id === own ? ', which is yours' : ''}
          </li>
        ))}
      </ul>
      <p className="quiet">
        Everyone pays their part, or nobody pays anything. Budgets do not stop it. It cannot be undone.
      </p>
      {authorize.error ? <ErrorCard error={authorize.error} /> : null}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" busy={authorize.isPending} onClick={() => authorize.mutate()}>
          Pay {fromMicro(item.shortfall_micro)} Credits
        </Button>
      </footer>
    </Dialog>
  )
}

/** A payer's part of what is above the hold: as large a part as it has of the hold. The server's rounding decides. */
function partOf(item: Settlement, reservedMicro: number): bigint {
  const held = item.funding_accounts.reduce((sum, payer) => sum + BigInt(payer.reserved_amount_micro), 0n)
  return held === 0n ? 0n : (BigInt(item.shortfall_micro) * BigInt(reservedMicro)) / held
}
