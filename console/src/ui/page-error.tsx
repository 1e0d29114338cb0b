import type { ErrorComponentProps } from '@tanstack/react-router'
import { Button, Notice } from './parts.tsx'

/** A page that broke: after an update its file may be gone, and loading anew helps. */
export function PageError({ error }: ErrorComponentProps) {
  return (
    <div className="alone">
      <Notice tone="bad" title="This page could not be shown">
        <p>Look at your connection and load it again. After an update of the server the old page is gone.</p>
        <p className="small">{error instanceof Error ? error.message : String(error)}</p>
        <div className="row">
          <Button small onClick={() => location.reload()}>
            Load it again
          </Button>
        </div>
      </Notice>
    </div>
  )
}
