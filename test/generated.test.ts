import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generators } from '../tools/generators.ts'
import { freshDatabase, type TestDatabase } from './database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test.each(generators)('$name: the committed files are what the code would write now', async ({ generate }) => {
  const files = await generate(database.url)
  const stale: string[] = []
  for (const [path, content] of Object.entries(files)) {
    const committed = await readFile(new URL(`../${path}`, import.meta.url), 'utf8').catch(() => '')
    if (committed !== content)
      stale.push(`${path} is stale at line ${firstDifference(committed, content)}: npm run generate`)
  }
  expect(stale).toEqual([])
})

function firstDifference(committed: string, content: string): number {
  const now = content.split('\n')
  const differing = committed.split('\n').findIndex((line, index) => line !== now[index])
  return differing < 0 ? now.length : differing + 1
}
