import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Button, ErrorCard, Field } from '../../ui/parts.tsx'
import type { Order } from './states.ts'

interface RecoveryProps {
  readonly order: Order
  readonly refresh: () => Promise<void>
}

/** For whoever can see the payment in the wallet: its hash finds it sooner. */
export function HashForm({ order, refresh }: RecoveryProps) {
  const [hash, setHash] = useState('')
  const register = useMutation({
    mutationFn: () =>
      api(`/v1/payments/orders/${order.id}/transactions`, { method: 'POST', body: { tx_hash: hash.trim() } }),
    onSuccess: refresh,
  })
  const wrong = hash.trim() !== '' && !/^0x[0-9a-fA-F]{64}$/.test(hash.trim())
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (!wrong && hash.trim() !== '') register.mutate()
      }}
    >
      {register.error ? <ErrorCard error={register.error} /> : null}
      <Field
        label="I have a transaction hash"
        hint="From the wallet’s list of activities. The hash alone proves nothing; the server looks it up."
        problem={wrong ? 'A hash is 0x and 64 hexadecimal digits.' : undefined}
      >
        {(ids) => (
          <input
            {...ids}
            className="input mono"
            autoComplete="off"
            spellCheck={false}
            value={hash}
            onChange={(event) => setHash(event.target.value)}
          />
        )}
      </Field>
      <div>
        <Button type="submit" busy={register.isPending} disabled={hash.trim() === '' || wrong}>
          Look it up
        </Button>
      </div>
    </form>
  )
}

/** Thirty more minutes at the same price. Sends nothing. */
export function ResumeButton({ order, refresh }: RecoveryProps) {
  const resume = useMutation({
    mutationFn: () => api(`/v1/payments/orders/${order.id}/resume`, { method: 'POST', body: {} }),
    onSuccess: refresh,
  })
  return (
    <>
      <Button busy={resume.isPending} onClick={() => resume.mutate()}>
        I have not sent it: 30 more minutes at the same price
      </Button>
      {resume.error ? <ErrorCard error={resume.error} /> : null}
    </>
  )
}
