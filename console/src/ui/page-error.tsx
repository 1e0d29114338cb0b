import type { ErrorComponentProps } from '@tanstack/react-router'
import { Button, Notice } from './parts.tsx'

/** A page that broke: after an update its file may be gone, and loading anew helps. */
export function PageError({ error }: ErrorComponentProps) {
  return (
    <main className="alone">
      <Notice tone="bad" title="This page could not be shown">
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <div className="row">
          <Button small onClick={() => location.reload()}>
            Load it again
          </Button>
        </div>
      </Notice>
    </main>
  )
}
