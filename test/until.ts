const PATIENCE_MS = 30_000

/** Waits until a condition holds, asked again every few milliseconds; fails after half a minute, which only a broken program or machine takes. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; ) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`never came true: ${what}`)
}
