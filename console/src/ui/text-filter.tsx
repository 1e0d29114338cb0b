import { useEffect, useState } from 'react'
import { Field } from './parts.tsx'

const PAUSE_MS = 300

/** A filter that is typed. The address follows once nothing was typed for a moment, and the field follows the address. */
export function TextFilter({
  label,
  value = '',
  onChange,
}: {
  label: string
  value?: string | undefined
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the wait anew
  useEffect(() => {
    if (typed.trim() === value) return
    const timer = setTimeout(() => onChange(typed.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <Field label={label}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          placeholder="All"
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
    </Field>
  )
}
