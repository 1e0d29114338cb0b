import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { useRepeatKey } from '../../api/once.ts'
import { Choice } from '../../ui/choice.tsx'
import { fromMicro } from '../../ui/format.ts'
import { Button, Card, CodeBlock, Credits, ErrorCard, Field } from '../../ui/parts.tsx'
import { type Model, variantsOf } from './price.ts'

const COUNTS = [1, 2, 3, 4]

/** What a picture is made of; its price stands on the button. */
export function MakeForm({
  models,
  prompt,
  onPrompt,
}: {
  models: readonly Model[]
  prompt: string
  onPrompt: (prompt: string) => void
}) {
  const [modelId, setModelId] = useState('')
  const [variantAt, setVariantAt] = useState(0)
  const [n, setN] = useState(1)
  const model = models.find(({ id }) => id === modelId) ?? models[0]
  const variants = model ? variantsOf(model) : []
  const variant = variants[variantAt] ?? variants[0]
  const body = { model: model?.id, prompt: prompt.trim(), n, ...variant?.fields }
  const make = useMake(body)
  const price = (variant?.unitMicro ?? 0) * n
  return (
    <Card title="A new picture">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <Field label="What it shows">
          {(ids) => (
            <textarea
              {...ids}
              className="input"
              required
              maxLength={4000}
              value={prompt}
              onChange={(event) => onPrompt(event.target.value)}
            />
          )}
        </Field>
        <div className="grid-cards">
          <Choice
            label="Model"
            value={model?.id ?? ''}
            onChange={(id) => {
              setModelId(id)
              setVariantAt(0)
            }}
            options={models.map(({ id, name }) => [id, name || id])}
          />
          {variants.length > 1 ? (
            <Choice
              label="Kind"
              value={String(variantAt)}
              onChange={(at) => setVariantAt(Number(at))}
              options={variants.map(({ words, unitMicro }, at) => [
                String(at),
                `${words}, ${fromMicro(unitMicro)} Credits`,
              ])}
            />
          ) : null}
          <Choice
            label="How many"
            value={String(n)}
            onChange={(many) => setN(Number(many))}
            options={COUNTS.map((many) => [String(many), String(many)])}
          />
        </div>
        {make.error ? <ErrorCard error={make.error} /> : null}
        <div className="row">
          <Button type="submit" kind="primary" busy={make.isPending}>
            Make it for {fromMicro(price)} Credits
          </Button>
          <span className="quiet small">
            {n > 1 ? (
              <>
                <Credits micro={variant?.unitMicro ?? 0} /> a picture.{' '}
              </>
            ) : null}
            A picture that is not made costs nothing, unless the provider charges for it.
          </span>
        </div>
      </form>
      <details>
        <summary>The same from a terminal</summary>
        <CodeBlock what="the request as curl" text={asCurl(body)} />
      </details>
    </Card>
  )
}

function useMake(body: object) {
  const queries = useQueryClient()
  const repeat = useRepeatKey()
  return useMutation({
    mutationFn: () =>
      api('/v1/images/generations', { method: 'POST', body, headers: { 'idempotency-key': repeat.of(body) } }),
    onSuccess: async () => {
      repeat.answered()
      await Promise.all(['/v1/tasks', 'balance'].map((key) => queries.invalidateQueries({ queryKey: [key] })))
    },
  })
}

const asCurl = (body: object): string =>
  `curl -s ${location.origin}/v1/images/generations \\
  -H "authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'content-type: application/json' \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
