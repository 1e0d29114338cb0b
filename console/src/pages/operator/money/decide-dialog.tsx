import { type ReactNode, useState } from 'react'
import type { Reply } from '../../../api/types.ts'
import { fromMicro, localTime, toMicro } from '../../../ui/format.ts'
import { Field } from '../../../ui/parts.tsx'
import { type Deed, ReasonDialog } from '../reason-dialog.tsx'
import type { Action, Review } from './review.tsx'

type Decided = Reply<'/v1/admin/reviews/{id}/credit', 'post'>['data']

/** Asks for what a decision needs, says whose Credits change by it, and does it. */
export function DecideDialog({
  review,
  action,
  onClose,
  onDone,
}: {
  review: Review
  action: Action
  onClose: () => void
  onDone: (said: string) => void
}) {
  const worth = review.worth_micro ?? 0
  const [credits, setCredits] = useState(fromMicro(worth))
  const [account, setAccount] = useState('')
  const [hash, setHash] = useState('')
  const micro = toMicro(credits)
  const fixed = action !== 'credit' || review.granted
  const amountProblem =
    fixed || (micro !== undefined && micro > 0n && micro <= BigInt(worth))
      ? undefined
      : `An amount above 0 and at most ${fromMicro(worth)}, which is what arrived is worth.`
  const names = action === 'credit' && review.account === null
  const hashProblem =
    action === 'refund' && !/^0x[0-9a-f]{64}$/i.test(hash.trim()) ? '0x and 64 hexadecimal digits.' : undefined
  const accountProblem = names && !/^[1-9]\d{0,14}$/.test(account.trim()) ? 'The number of an account.' : undefined
  const deed: Deed = {
    ...wordsOf(review, action, micro ?? 0n, review.account?.id ?? account.trim()),
    path: `/v1/admin/reviews/${encodeURIComponent(review.id)}/${action}`,
    body: {
      ...(fixed || micro === undefined ? {} : { credit_micro: Number(micro) }),
      ...(names ? { account_id: Number(account) } : {}),
      ...(action === 'refund' ? { tx_hash: hash.trim() } : {}),
    },
    done: (answer) => saidOf((answer as { data: Decided }).data),
  }
  return (
    <ReasonDialog
      deed={deed}
      refresh={['/v1/admin/reviews', '/v1/admin/overview', '/v1/admin/accounts', '/v1/admin/audit-log', 'balance']}
      ready={amountProblem === undefined && hashProblem === undefined && accountProblem === undefined}
      onClose={onClose}
      onDone={onDone}
    >
      {fixed ? null : (
        <Input
          label="Credits"
          hint={`What arrived is worth ${fromMicro(worth)} Credits.`}
          problem={amountProblem}
          value={credits}
          onChange={setCredits}
        />
      )}
      {names ? (
        <Input
          label="Account"
          hint="Whom to credit: nobody asked for this payment."
          problem={account === '' ? undefined : accountProblem}
          value={account}
          onChange={setAccount}
        />
      ) : null}
      {action === 'refund' ? (
        <Input
          label="Transaction that sent it back"
          hint="Its hash. The server holds no key: it only records it."
          problem={hash === '' ? undefined : hashProblem}
          value={hash}
          onChange={setHash}
        />
      ) : null}
    </ReasonDialog>
  )
}

function Input({
  value,
  onChange,
  ...field
}: {
  label: string
  hint: string
  problem: string | undefined
  value: string
  onChange: (value: string) => void
}) {
  return (
    <Field {...field}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          required
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

/** What the decision is called, and what it does to whose Credits. */
function wordsOf(
  review: Review,
  action: Action,
  micro: bigint,
  account: number | string,
): Pick<Deed, 'title' | 'verb' | 'danger'> & { means: ReactNode } {
  const who = `account ${account || '…'}${review.account?.label ? ` (${review.account.label})` : ''}`
  const two = review.takes_two ? ' It takes a second operator: until then nothing changes.' : ''
  const taken = review.granted ? ` What is still held of the Credits of ${who} is taken back.` : ''
  if (action === 'credit')
    return {
      title: 'Give the Credits',
      verb: 'Give Credits',
      means: review.granted
        ? `A${who.slice(1)} keeps the Credits that it was given. What is held of them is free again.${two}`
        : `A${who.slice(1)} gets ${fromMicro(micro)} Credits, which can be spent at once and cannot be taken back.${two}`,
    }
  if (action === 'refund')
    return {
      title: 'Record that it was sent back',
      verb: 'Record it',
      means: `Nobody gets Credits. You have sent the money back yourself: this records by which transaction.${taken}${two}`,
    }
  return {
    title: 'Dismiss this payment',
    verb: 'Dismiss',
    danger: true,
    means: `The payment is closed, and nobody gets Credits for what arrived.${taken}${two} It cannot be opened again.`,
  }
}

function saidOf({ action, outcome, credit_micro: micro, taken_micro: taken, until }: Decided): string {
  if (outcome === 'proposed')
    return `Proposed: another operator has to decide the same before ${until ? localTime(until) : 'tomorrow'}. Nothing was changed yet.`
  const back = taken === null ? '' : ` ${fromMicro(taken)} Credits were taken back.`
  if (action === 'credit') return `${fromMicro(micro)} Credits were given.`
  return action === 'refund' ? `Recorded as sent back.${back}` : `Dismissed.${back}`
}
