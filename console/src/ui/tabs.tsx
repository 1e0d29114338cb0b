import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'

/** Several things in one place, one of them shown. Arrow keys move between their names. */
export function Tabs({
  label,
  tabs,
}: {
  label: string
  tabs: ReadonlyArray<{ readonly name: string; readonly content: ReactNode }>
}) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState(0)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = (shown + step + tabs.length) % tabs.length
    setShown(next)
    ;(list.current?.children[next] as HTMLElement | undefined)?.focus()
  }
  return (
    <div className="stack-tight">
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ name }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === shown}
            aria-controls={`${id}-panel`}
            tabIndex={index === shown ? 0 : -1}
            onClick={() => setShown(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown}`}>
        {tabs[shown]?.content}
      </div>
    </div>
  )
}
