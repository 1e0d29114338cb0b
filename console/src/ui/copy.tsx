import { useState } from 'react'
import { shortAddress } from './format.ts'

/** Copies a text and says that it did. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={copied ? `${what} copied` : `Copy ${what}`}
      title={copied ? 'Copied' : 'Copy'}
      onClick={async () => {
        await navigator.clipboard.writeText(text)
        setCopied(true)
        setTimeout(() => setCopied(false), 2000)
      }}
    >
      <svg
        width="16"
        height="16"
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        aria-hidden="true"
      >
        {copied ? <path d="M3 8.5 6.5 12 13 4.5" /> : <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />}
      </svg>
    </button>
  )
}

/** An address or id, shortened for the eye, whole for the clipboard. */
export function Copyable({ text, what, whole = false }: { text: string; what: string; whole?: boolean }) {
  if (text === '') return <span className="quiet">–</span>
  return (
    <span className="copyable">
      <code title={text}>{whole ? text : shortAddress(text)}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}

/** Text for a terminal, ready to be copied. */
export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <section className="code-block" aria-label={what}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} what={what} />
    </section>
  )
}
