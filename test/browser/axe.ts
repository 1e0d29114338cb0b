import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly target: readonly string[] }>
}

/** What axe finds wrong with the page as it is now: rule, and the elements that break it. Call when the page has settled. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // a string, because the page's own policy lets no text become a script; the debugger is above it
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await readFile(source, 'utf8'))
  const { violations } = await page.evaluate(() => {
    const axe = Reflect.get(globalThis, 'axe') as { run(options: object): Promise<{ violations: Violation[] }> }
    return axe.run({ resultTypes: ['violations'] })
  })
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}`))
}
