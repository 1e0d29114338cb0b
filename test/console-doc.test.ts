import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

const documents = new URL('../docs/', import.meta.url)

test('the page of the console shows every picture that is there, and none that is not', async () => {
  const text = await readFile(new URL('console.md', documents), 'utf8')
  const shown = [...text.matchAll(/\]\(pictures\/console\/([\w-]+\.png)\)/g)].map(([, name]) => name)
  expect(shown.toSorted()).toEqual((await readdir(new URL('pictures/console/', documents))).toSorted())
})
