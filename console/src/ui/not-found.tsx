import { ButtonLink, Empty } from './parts.tsx'

/** Where no page is. */
export function NotFound() {
  return (
    <main className="alone">
      <Empty title="There is no such page">
        <p>The address may be old or mistyped.</p>
        <ButtonLink to="/console">To the home page</ButtonLink>
      </Empty>
    </main>
  )
}
