import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api } from '../../api/client.ts'
import { useRepeatKey } from '../../api/once.ts'
import { fromMicro } from '../../ui/format.ts'
import { Button, CodeBlock, ErrorCard, Field } from '../../ui/parts.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { blank, type Form, formOf, readForm, type Typed } from './form.ts'
import { InputField } from './form-field.tsx'
import { InvokedAnswer } from './invoked.tsx'
import { type CallPrice, type Capability, type Invoked, type Operation, priceOf } from './operation.ts'
import { addressOf, asCurl, asMcp, asSdk, inQuery, sampleInput } from './request.ts'

/** The operation's input as a form, its price on the button, its answer, and the same call for programs. */
export function TryForm({ capability, operation }: { capability: Capability; operation: Operation }) {
  const form = useMemo(() => formOf(operation.input_schema), [operation])
  const [typed, setTyped] = useState<Typed>(() => blank(form))
  const [tried, setTried] = useState(false)
  const read = readForm(form, typed)
  const input = 'input' in read ? read.input : undefined
  const problems = tried && 'problems' in read ? read.problems : {}
  const call = useCall(operation)
  const change = (name: string, value: string) => setTyped({ ...typed, [name]: value })
  const shown = input ?? sampleInput(operation)
  return (
    <div className="stack">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          setTried(true)
          if (input) call.mutate(input)
        }}
      >
        <Inputs form={form} typed={typed} problems={problems} onChange={change} />
        <div className="row">
          <Button type="submit" kind="primary" busy={call.isPending} disabled={!operation.availability.invoke_allowed}>
            {wordsOf(priceOf(operation.pricing, input))}
          </Button>
          {operation.pricing.unit_price_micro === 0 ? null : (
            <span className="small quiet">Paid from your Credits. A repeat after a failure is charged once.</span>
          )}
        </div>
      </form>
      {call.error ? <ErrorCard error={call.error} retry={() => call.variables && call.mutate(call.variables)} /> : null}
      {call.data ? <InvokedAnswer invoked={call.data} /> : null}
      <Tabs
        label={`${operation.name} from a program`}
        tabs={[
          {
            name: 'curl',
            content: <CodeBlock what="the call as curl" text={asCurl(operation, shown, location.origin)} />,
          },
          {
            name: 'SDK',
            content: (
              <CodeBlock what="the call with the SDK" text={asSdk(capability, operation, shown, location.origin)} />
            ),
          },
          { name: 'MCP', content: <CodeBlock what="the call as a tool" text={asMcp(capability, operation, shown)} /> },
        ]}
      />
      <p className="small quiet">
        It takes <code>{operation.method}</code>. Any other method is answered 405 with{' '}
        <code>Allow: {operation.method}</code>, and costs nothing.
      </p>
    </div>
  )
}

/** A read that is free needs no key: it can be asked again by anybody. */
function useCall(operation: Operation) {
  const queries = useQueryClient()
  const repeat = useRepeatKey()
  return useMutation({
    mutationFn: (input: Readonly<Record<string, unknown>>) =>
      api<Invoked>(addressOf(operation, input), {
        method: operation.method as 'POST',
        ...(inQuery(operation) ? {} : { body: input }),
        ...(operation.pricing.unit_price_micro > 0 || operation.idempotency_key_required
          ? { headers: { 'idempotency-key': repeat.of(input) } }
          : {}),
      }),
    onSuccess: async () => {
      repeat.answered()
      await Promise.all(['/v1/calls', 'balance'].map((key) => queries.invalidateQueries({ queryKey: [key] })))
    },
  })
}

function wordsOf({ micro, atMost }: CallPrice): string {
  if (micro === 0 && !atMost) return 'Call it, free'
  return `Call it for ${atMost ? 'at most ' : ''}${fromMicro(micro)} Credits`
}

function Inputs({
  form,
  typed,
  problems,
  onChange,
}: {
  form: Form
  typed: Typed
  problems: Typed
  onChange: (name: string, value: string) => void
}) {
  if ('whole' in form)
    return (
      <Field label="Input, as JSON" problem={problems['']}>
        {(ids) => (
          <textarea
            {...ids}
            className="input mono"
            value={typed['']}
            onChange={(event) => onChange('', event.target.value)}
          />
        )}
      </Field>
    )
  if (form.fields.length === 0) return <p className="quiet">It takes no input.</p>
  return form.fields.map((field) => (
    <InputField
      key={field.name}
      field={field}
      value={typed[field.name] ?? ''}
      problem={problems[field.name]}
      onChange={(value) => onChange(field.name, value)}
    />
  ))
}
