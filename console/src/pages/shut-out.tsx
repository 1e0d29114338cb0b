import type { ApiError } from '../api/error.ts'
import { session } from '../session/session.ts'
import { Button, Copyable, Notice } from '../ui/parts.tsx'
import { SupportContact } from '../ui/support.tsx'

const titles: Readonly<Record<string, string>> = {
  account_banned: 'This account is banned',
  account_deactivated: 'This account is deactivated',
}

/** In place of every page, for an account that the server lets do nothing: what that means, and who can change it. */
export function ShutOut({ because }: { because: ApiError }) {
  const title = titles[because.code] ?? 'This account may not come in'
  return (
    <main className="alone">
      <title>{`${title} · Farebox`}</title>
      <div className="stack">
        <h1>{title}</h1>
        <Notice tone="bad">
          <p>Its pages, its keys and its programs are refused from now on. Credits that it has stay where they are.</p>
          <p>
            <SupportContact about={`${title}, request ${because.requestId}`} />
          </p>
          {because.requestId ? (
            <span className="small">
              Request <Copyable text={because.requestId} what="request id" whole />
            </span>
          ) : null}
        </Notice>
        <div className="row">
          <Button onClick={() => location.reload()}>Look again</Button>
          <Button onClick={session.leave}>Sign in as somebody else</Button>
        </div>
      </div>
    </main>
  )
}
