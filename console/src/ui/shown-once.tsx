import { useState } from 'react'
import { Button, CodeBlock } from './parts.tsx'

/** A secret that the server gives once. It can be closed only by who says that it is stored. */
export function ShownOnce({
  secret,
  what,
  variable,
  onClose,
}: {
  secret: string
  what: string
  /** The name that it gets in the file for download; absent, there is none. */
  variable?: string
  onClose: () => void
}) {
  const [stored, setStored] = useState(false)
  return (
    <>
      <p>It is shown this once. Nobody can show it to you again.</p>
      <CodeBlock text={secret} what={what} />
      <label className="row">
        <input type="checkbox" checked={stored} onChange={(event) => setStored(event.target.checked)} />I have stored it
      </label>
      <footer>
        {variable === undefined ? null : (
          <a
            className="button"
            download="farebox.env"
            href={`data:text/plain,${encodeURIComponent(`${variable}=${secret}\n`)}`}
          >
            Download as .env
          </a>
        )}
        <Button kind="primary" disabled={!stored} onClick={onClose}>
          Close
        </Button>
      </footer>
    </>
  )
}
