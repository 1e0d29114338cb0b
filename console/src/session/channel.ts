type Message<T> =
  | { readonly kind: 'ask' }
  | { readonly kind: 'given'; readonly what: T }
  | { readonly kind: 'signed-out' }

/** What the tabs of one browser tell each other about their session. */
export interface SessionChannel<T> {
  share(what: T): void
  /** Asks the other tabs; resolves when one answered, or after `ms`. */
  ask(ms: number): Promise<void>
  signOut(): void
}

/** Opens the channel. `give` says what this tab can share; undefined: nothing. */
export function openChannel<T>(on: {
  give: () => T | undefined
  onGiven: (what: T) => void
  onSignedOut: () => void
}): SessionChannel<T> {
  const channel = new BroadcastChannel('farebox:session')
  const waiting = new Set<() => void>()
  const post = (message: Message<T>): void => channel.postMessage(message)
  channel.onmessage = ({ data }: MessageEvent<Message<T>>) => {
    if (data.kind === 'signed-out') on.onSignedOut()
    else if (data.kind === 'given') {
      on.onGiven(data.what)
      for (const resolve of waiting) resolve()
    } else {
      const what = on.give()
      if (what !== undefined) post({ kind: 'given', what })
    }
  }
  return {
    share: (what) => post({ kind: 'given', what }),
    signOut: () => post({ kind: 'signed-out' }),
    ask: (ms) =>
      new Promise((resolve) => {
        const done = () => {
          waiting.delete(done)
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(done, ms)
        waiting.add(done)
        post({ kind: 'ask' })
      }),
  }
}
