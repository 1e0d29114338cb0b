import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Every rule, or those that colours can break. */
export type Rules = 'all' | 'colours'

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly target: readonly string[] }>
}

const optionsOf: Readonly<Record<Rules, object>> = {
  all: { resultTypes: ['violations'] },
  colours: { resultTypes: ['violations'], runOnly: ['color-contrast'] },
}

/** What axe finds wrong with the page as it is now: rule, and the elements that break it. Call when the page has settled. */
export async function accessibilityProblems(page: Page, rules: Rules = 'all'): Promise<string[]> {
  // a string, because the page's own policy lets no text become a script; the debugger is above it
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await readFile(source, 'utf8'))
  const { violations } = await page.evaluate((options) => {
    const axe = Reflect.get(globalThis, 'axe') as { run(options: object): Promise<{ violations: Violation[] }> }
    return axe.run(options)
  }, optionsOf[rules])
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}`))
}
