import { useNavigate, useSearch } from '@tanstack/react-router'

/** The filters of a page live in its address, so that a view can be kept, shared and gone back to. An empty value leaves the address. */
export function useFilters(): [Readonly<Record<string, string>>, (changes: Record<string, string>) => void] {
  const search = useSearch({ strict: false }) as Record<string, string>
  const navigate = useNavigate()
  const change = (changes: Record<string, string>) => {
    const next = Object.fromEntries(Object.entries({ ...search, ...changes }).filter(([, value]) => value !== ''))
    void navigate({ to: '.', search: next, replace: true })
  }
  return [search, change]
}
