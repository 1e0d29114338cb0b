import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { withPalette } from './palette.ts'

const documents = fileURLToPath(new URL('../../docs/pictures/console/', import.meta.url))
const HEIGHT = 800

/** The page in the documents, `docs/pictures/console/<name>.png`, taken again where FAREBOX_PICTURES is set: whole, in light. */
export async function pictureForDocuments(page: Page, name: string): Promise<void> {
  if (!process.env.FAREBOX_PICTURES) return
  await mkdir(documents, { recursive: true })
  const size = page.viewportSize() ?? { width: 1280, height: HEIGHT }
  // as high as the page: what stays in view while one scrolls is drawn once, and to the end
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ ...size, height: Math.max(height, HEIGHT) })
  await writeFile(join(documents, `${name}.png`), withPalette(await page.screenshot({ animations: 'disabled' })))
  await page.setViewportSize(size)
}

/** The same in any look, for whoever wants to judge it: into the folder of FAREBOX_SCREENSHOTS, where that is set. */
export async function pictureForReview(page: Page, name: string): Promise<void> {
  const folder = process.env.FAREBOX_SCREENSHOTS
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
