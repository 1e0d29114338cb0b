import type { ReactNode } from 'react'
import { Field } from './parts.tsx'

/** One of several, chosen from a list: a filter of a page, or a field of a form. */
export function Choice({
  label,
  value,
  onChange,
  options,
  hint,
  problem,
}: {
  label: string
  value: string
  onChange: (value: string) => void
  options: ReadonlyArray<readonly [value: string, words: string]>
  hint?: ReactNode
  problem?: string | undefined
}) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <select {...ids} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** The options of a table of words. */
export const optionsOf = (
  table: Readonly<Record<string, { readonly words: string }>>,
): ReadonlyArray<readonly [string, string]> => Object.entries(table).map(([name, { words }]) => [name, words])

/** The options of a filter by state, with the one that lets everything through first. */
export const statesAsOptions = (states: Parameters<typeof optionsOf>[0]): ReturnType<typeof optionsOf> => [
  ['', 'All'],
  ...optionsOf(states),
]
