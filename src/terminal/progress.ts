/** After this long, and then at every doubling, a running command says on stderr that it is still at it. */
const FIRST_SIGN_MS = 1000

/** Runs `work`; what takes longer than a second is seen to be running. */
export async function withProgress<T>(
  around: { readonly writeError: (text: string) => void },
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const signAt = (ms: number, waitMs: number): void => {
    timer = setTimeout(() => {
      around.writeError(`… ${what} (${ms / 1000} s)\n`)
      signAt(ms * 2, ms)
    }, waitMs)
  }
  signAt(FIRST_SIGN_MS, FIRST_SIGN_MS)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}
