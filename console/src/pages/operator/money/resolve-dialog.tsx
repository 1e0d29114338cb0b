import { useState } from 'react'
import type { Reply } from '../../../api/types.ts'
import { fromMicro, toMicro } from '../../../ui/format.ts'
import { Field } from '../../../ui/parts.tsx'
import { type Deed, ReasonDialog } from '../reason-dialog.tsx'
import type { Hold } from './hold.tsx'

type Resolved = Reply<'/v1/admin/holds/{id}/resolve', 'post'>['data']

const ends = {
  charge: 'Charge what the call cost',
  failed: 'Charge it, as a call that failed: it may be refunded',
  release: 'Charge nothing',
} as const

/** Asks how a hold ends, says whose Credits that changes, and ends it. */
export function ResolveDialog({
  hold,
  suggested,
  onClose,
  onDone,
}: {
  hold: Hold
  /** What the provider's record says that the call cost. */
  suggested: number | undefined
  onClose: () => void
  onDone: (said: string) => void
}) {
  const [end, setEnd] = useState<keyof typeof ends>('charge')
  const [credits, setCredits] = useState(suggested === undefined ? '' : fromMicro(suggested))
  const [above, setAbove] = useState(false)
  const charges = end !== 'release'
  const micro = toMicro(credits)
  const over = charges && micro !== undefined && micro > BigInt(hold.reserve_micro)
  const deed: Deed = {
    title: `End hold ${hold.id}`,
    verb: charges ? `Charge ${micro === undefined ? '…' : fromMicro(micro)} Credits` : 'Charge nothing',
    danger: !charges,
    means: meaning(hold, charges ? micro : 0n, over),
    path: `/v1/admin/holds/${hold.id}/resolve`,
    body: charges
      ? {
          actual_micro: Number(micro ?? 0n),
          outcome: end === 'failed' ? 'failed' : 'success',
          ...(over ? { above_hold: above } : {}),
        }
      : { release: true },
    done: (answer) => saidOf(hold, (answer as { data: Resolved }).data),
  }
  return (
    <ReasonDialog
      deed={deed}
      refresh={['/v1/admin/holds', '/v1/admin/overview', '/v1/admin/accounts', '/v1/admin/audit-log', 'balance']}
      ready={!charges || (micro !== undefined && (!over || above))}
      onClose={onClose}
      onDone={onDone}
    >
      <Field label="How it ends">
        {(ids) => (
          <select
            {...ids}
            className="input"
            value={end}
            onChange={(event) => setEnd(event.target.value as keyof typeof ends)}
          >
            {Object.entries(ends).map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {charges ? (
        <Field
          label="Credits"
          hint={`${fromMicro(hold.reserve_micro)} Credits are held.`}
          problem={credits !== '' && micro === undefined ? 'An amount such as 0.25.' : undefined}
        >
          {(ids) => (
            <input
              {...ids}
              className="input"
              inputMode="decimal"
              autoComplete="off"
              required
              value={credits}
              onChange={(event) => setCredits(event.target.value)}
            />
          )}
        </Field>
      ) : null}
      {over ? (
        <div className="field">
          <label className="choice">
            <input type="checkbox" checked={above} onChange={(event) => setAbove(event.target.checked)} /> The call did
            cost more than was held
          </label>
        </div>
      ) : null}
    </ReasonDialog>
  )
}

function meaning(hold: Hold, micro: bigint | undefined, over: boolean): string {
  const payers = [...new Set(hold.allocations.map(({ payer_account_id: id }) => id))].map((id) => `account ${id}`)
  const who = payers.join(' and ')
  const whole = `${who.charAt(0).toUpperCase()}${who.slice(1)}`
  const held = fromMicro(hold.reserve_micro)
  if (micro === undefined) return `${held} Credits of ${who} are held for this call.`
  if (micro === 0n) return `All ${held} Credits that are held of ${who} are free again. It cannot be undone.`
  if (over)
    return `${whole} pays the ${held} Credits that are held, and account ${hold.account_id} the rest up to ${fromMicro(micro)}. If it cannot, nothing is charged and the hold waits for its payers.`
  const back = fromMicro(BigInt(hold.reserve_micro) - micro)
  return `${whole} pays ${fromMicro(micro)} Credits out of what is held; ${back} Credits are free again. It cannot be undone.`
}

function saidOf(hold: Hold, { state, charged_micro: charged, returned_micro: back, changed }: Resolved): string {
  if (!changed) return `Hold ${hold.id} had ended so already: nothing was changed.`
  if (state === 'shortfall')
    return `Nothing was charged: account ${hold.account_id} cannot pay what is above the hold. It waits for its payers now.`
  return `Hold ${hold.id} ended: ${fromMicro(charged)} Credits charged, ${fromMicro(back)} given back.`
}
