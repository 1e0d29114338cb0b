import { useState } from 'react'
import { fromMicro, toMicro } from '../../../ui/format.ts'
import { Field } from '../../../ui/parts.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import type { FullAccount } from './account.tsx'

/** Sets below which balance this account is told. */
export function AlertDialog({
  full: { account, alert },
  ...rest
}: {
  full: FullAccount
  refresh: readonly string[]
  onClose: () => void
  onDone: (said: string) => void
}) {
  const [typed, setTyped] = useState(alert.below_micro === null ? '' : fromMicro(alert.below_micro))
  const micro = typed.trim() === '' ? null : toMicro(typed)
  const standard = alert.default_below_micro === 0 ? 'never' : `below ${fromMicro(alert.default_below_micro)} Credits`
  return (
    <ReasonDialog
      {...rest}
      deed={{
        title: `Low-balance threshold of account ${account.id}`,
        means: `The account is told by a balance.low event as soon as its balance falls below this. The setting for all is: ${standard}.`,
        verb: 'Set the threshold',
        path: `/v1/admin/accounts/${account.id}/alert`,
        body: { below_micro: micro == null ? null : Number(micro) },
        done: 'The low-balance threshold is set.',
      }}
      ready={micro !== undefined}
    >
      <Field
        label="Credits"
        hint="0: never. Empty: the setting for all."
        problem={micro === undefined ? 'An amount such as 5 or 0.25.' : undefined}
      >
        {(ids) => (
          <input
            {...ids}
            className="input"
            inputMode="decimal"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
    </ReasonDialog>
  )
}
