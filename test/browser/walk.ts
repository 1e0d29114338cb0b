import type { Page } from 'playwright-core'
import { type NavigationItem, navigation } from '../../console/src/ui/navigation.ts'
import { accessibilityProblems, type Rules } from './axe.ts'
import { pictureForDocuments, pictureForReview } from './pictures.ts'

/** Every page that the navigation leads to. */
export const pages: readonly NavigationItem[] = navigation.flatMap(({ items }) => items)

interface Look {
  readonly name: string
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  /** Of the same elements in the same places, only the colours can be wrong. */
  readonly rules: Rules
}

const WIDE = 1280
const HEIGHT = 800
const looks: readonly Look[] = [
  { name: 'light', colorScheme: 'light', width: WIDE, rules: 'all' },
  { name: 'dark', colorScheme: 'dark', width: WIDE, rules: 'colours' },
  { name: 'narrow', colorScheme: 'dark', width: 320, rules: 'all' },
]

/**
 * The long form, npm run test:pages: every state of every page in every look. Else those states in which pages differ
 * little are looked at in one look each, and the next state of the same page in the other one.
 */
const everyLook = [process.env.FAREBOX_LOOKS, process.env.FAREBOX_PICTURES, process.env.FAREBOX_SCREENSHOTS].some(
  Boolean,
)
/** The two that have least in common. */
const turns = looks.filter(({ rules }) => rules === 'all')

/** Goes to a page of the console as people do, by its link. */
export async function goTo(page: Page, { label }: NavigationItem): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: label, exact: true }).click()
  // its own heading: while its file is loaded, the page before stays
  await page.locator('#main').getByRole('heading', { level: 1, name: label, exact: true }).waitFor()
}

/** Moves the console to another of its addresses, as the Back button does: nothing is loaded anew. */
export const moveTo = (page: Page, address: string): Promise<void> =>
  page.evaluate(`history.pushState({}, '', '${address}')`)

/** The page shows what it has to show, or says why not, and no line is still on its way. */
export async function settled(page: Page): Promise<void> {
  await page.locator('#main').getByRole('heading', { level: 1 }).waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

/**
 * What is wrong with the page as it stands, in light, in dark and at 320 px: what axe finds, and whether somebody has to
 * scroll sideways. `name`: of the pictures that are taken by the way, where they are wanted; `documented`: also for the documents.
 */
export const problemsInEveryLook = (page: Page, name: string, documented = true): Promise<string[]> =>
  problemsIn(looks, page, name, documented)

/** The same in one look, that of the turn; in every look in the long form. */
export function problemsInTurn(turn: number, page: Page, name: string, documented = true): Promise<string[]> {
  return problemsIn(everyLook ? looks : [turns[turn % turns.length] as Look], page, name, documented)
}

async function problemsIn(wanted: readonly Look[], page: Page, name: string, documented: boolean): Promise<string[]> {
  const problems: string[] = []
  for (const look of wanted) {
    await page.emulateMedia({ colorScheme: look.colorScheme })
    await page.setViewportSize({ width: look.width, height: HEIGHT })
    await pictureForReview(page, `${name}-${look.name}`)
    if (documented && look.name === 'light') await pictureForDocuments(page, name)
    for (const problem of await accessibilityProblems(page, look.rules))
      problems.push(`${name}, ${look.name}: ${problem}`)
    if ((await overflow(page)) > 0) problems.push(`${name}, ${look.name}: scrolls sideways`)
  }
  await page.setViewportSize({ width: WIDE, height: HEIGHT })
  return problems
}

/** How much wider than the window the page is, in pixels. */
const overflow = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** The name of a page as files have it. */
export const fileName = ({ label }: NavigationItem): string => label.toLowerCase().replaceAll(' ', '-')
