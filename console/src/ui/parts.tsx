import { Link } from '@tanstack/react-router'
import { type ComponentProps, type ReactNode, useId } from 'react'
import { ApiError } from '../api/error.ts'
import { Copyable } from './copy.tsx'
import { ago, fromMicro, localTime } from './format.ts'

export { CodeBlock, Copyable } from './copy.tsx'

/** The head of every page: its name, one sentence, and what can be done here. */
export function PageHead({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <title>{`${title} · Farebox`}</title>
      <div className="stack-tight">
        <h1>{title}</h1>
        {children ? <p>{children}</p> : null}
      </div>
      {actions ? <div className="row">{actions}</div> : null}
    </header>
  )
}

/** A titled surface. `repeated`: one of many alike, which are articles; landmarks must have names of their own. */
export function Card({
  title,
  actions,
  repeated = false,
  children,
}: {
  title?: string
  actions?: ReactNode
  repeated?: boolean
  children: ReactNode
}) {
  const id = useId()
  const Surface = repeated ? 'article' : 'section'
  return (
    <Surface className="card" aria-labelledby={title ? id : undefined}>
      {title || actions ? (
        <header>
          {title ? <h2 id={id}>{title}</h2> : <span />}
          {actions}
        </header>
      ) : null}
      {children}
    </Surface>
  )
}

type ButtonKind = 'primary' | 'danger' | 'plain' | 'ordinary'

/** A button; while `busy` it says so and takes no second press. */
export function Button({
  kind = 'ordinary',
  small = false,
  busy = false,
  ...rest
}: ComponentProps<'button'> & { kind?: ButtonKind; small?: boolean; busy?: boolean }) {
  return (
    <button
      type="button"
      {...rest}
      className="button"
      data-kind={kind}
      data-size={small ? 'small' : undefined}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
    />
  )
}

/** A link that looks like a button. */
export function ButtonLink({
  to,
  search,
  kind = 'ordinary',
  children,
}: {
  to: string
  search?: Readonly<Record<string, string>>
  kind?: ButtonKind
  children: ReactNode
}) {
  return (
    <Link to={to} {...(search ? { search } : {})} className="button" data-kind={kind}>
      {children}
    </Link>
  )
}

/** Credits with their unit. */
export function Credits({ micro, signed = false }: { micro: number | string | bigint; signed?: boolean }) {
  const amount = BigInt(micro)
  return (
    <span title={`${amount} microcredits`}>
      {signed && amount > 0n ? '+' : ''}
      {fromMicro(amount)} <span className="unit">Credits</span>
    </span>
  )
}

/** A time in the reader's zone; its UTC form on hover. */
export function Time({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) {
  if (!at) return <span className="quiet">–</span>
  const iso = new Date(at).toISOString()
  return (
    <time dateTime={iso} title={iso}>
      {relative ? ago(at) : localTime(at)}
    </time>
  )
}

/** What a thing's state is, in a word and a colour. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: 'good' | 'warn' | 'bad' | 'accent' | 'neutral'
  children: ReactNode
}) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  )
}

/** A message that stands out. */
export function Notice({
  tone,
  title,
  children,
}: {
  tone: 'good' | 'warn' | 'bad' | 'neutral'
  title?: string
  children?: ReactNode
}) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {title ? <strong>{title}</strong> : null}
      {children}
    </div>
  )
}

/** Says what went wrong, what to do, and under which id the server remembers it. */
export function ErrorCard({ error, retry }: { error: Error; retry?: (() => void) | undefined }) {
  const requestId = error instanceof ApiError ? error.requestId : ''
  const offline = error instanceof ApiError && error.status === 0
  return (
    <Notice tone="bad" title={offline ? 'The server cannot be reached' : 'That did not work'}>
      <p>{offline ? 'Look at your connection. Nothing was changed.' : error.message}</p>
      <div className="row">
        {retry ? (
          <Button small onClick={retry}>
            Try again
          </Button>
        ) : null}
        {requestId ? (
          <span className="small">
            Request <Copyable text={requestId} what="request id" whole />
          </span>
        ) : null}
      </div>
    </Notice>
  )
}

/** In the place of what was never loaded, while the browser has no network. It comes by itself then. */
export function WaitsForNetwork() {
  return (
    <Empty title="Not loaded yet">
      <p>It comes by itself, as soon as you are online again.</p>
    </Empty>
  )
}

/** What to do where there is nothing yet. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** Lines in the place of what is coming, as many as it usually has. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="stack-tight" role="status">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: nothing but its place tells these lines apart
        <span key={n} className="skeleton" style={{ height: '1.5rem', width: `${100 - ((n * 17) % 40)}%` }} />
      ))}
    </div>
  )
}

/** A label, its input, a hint and what is wrong, tied together for screen readers. */
export function Field({
  label,
  hint,
  problem,
  children,
}: {
  label: string
  hint?: ReactNode
  problem?: string | undefined
  children: (ids: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean | undefined
  }) => ReactNode
}) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', problem ? `${id}-problem` : ''].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': problem ? true : undefined })}
      {hint ? (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      ) : null}
      {problem ? (
        <span className="problem" id={`${id}-problem`}>
          {problem}
        </span>
      ) : null}
    </div>
  )
}

/** The head of a column: its words, and whether it holds figures, which stand to the right. */
export type Column = string | { readonly number: string }

const headOf = (column: Column) => {
  const words = typeof column === 'string' ? column : column.number
  return (
    <th key={words} scope="col" className={typeof column === 'string' ? undefined : 'number'}>
      {words}
    </th>
  )
}

/** A table that scrolls sideways where it does not fit. */
export function Table({
  caption,
  columns,
  children,
  foot,
}: {
  caption: string
  columns: readonly Column[]
  children: ReactNode
  foot?: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="table-scroll" tabIndex={0} aria-label={caption}>
      <table>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>{columns.map(headOf)}</tr>
        </thead>
        <tbody>{children}</tbody>
        {foot ? <tfoot>{foot}</tfoot> : null}
      </table>
    </section>
  )
}
