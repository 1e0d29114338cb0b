import { Choice } from '../../ui/choice.tsx'
import { Field } from '../../ui/parts.tsx'
import type { FormField } from './form.ts'

/** The field that fits the type: a line, some lines, a number, a choice, or JSON. */
export function InputField({
  field: { name, kind, required, description, choices, long },
  value,
  problem,
  onChange,
}: {
  field: FormField
  value: string
  problem: string | undefined
  onChange: (value: string) => void
}) {
  const label = required ? name : `${name} (optional)`
  if (kind === 'choice' || kind === 'boolean') {
    const options = kind === 'boolean' ? ['true', 'false'] : choices
    return (
      <Choice
        label={label}
        hint={description}
        problem={problem}
        value={value}
        onChange={onChange}
        options={[['', 'Not given'], ...options.map((option) => [option, wordsOf(option)] as const)]}
      />
    )
  }
  const lines = long || kind === 'json'
  const Input = lines ? 'textarea' : 'input'
  return (
    <Field label={label} hint={description} problem={problem}>
      {(ids) => (
        <Input
          {...ids}
          className={kind === 'json' ? 'input mono' : 'input'}
          value={value}
          autoComplete="off"
          spellCheck={kind === 'text'}
          inputMode={kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : 'text'}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

/** A text as it is, anything else as JSON writes it. */
const wordsOf = (option: string): string => {
  const value: unknown = JSON.parse(option)
  return typeof value === 'string' ? value : option
}
