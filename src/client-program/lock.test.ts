import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import { systemRandom } from '../kernel/random.ts'
import { openCredentials } from './credentials.ts'
import { locked } from './lock.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-lock-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lock = (name: string, holder: string) => locked(join(folder, name), { clock: systemClock, holder })

test('a lock has one holder at a time', async () => {
  let holders = 0
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const release = await lock('one', `holder ${index}`)
      holders += 1
      await new Promise((resolve) => setTimeout(resolve, 5))
      expect(holders).toBe(1)
      holders -= 1
      release()
    }),
  )
  expect(existsSync(join(folder, 'one'))).toBe(false)
})

test('a lock that a dead process left is taken over, and who lost it so does not release it', async () => {
  const path = join(folder, 'left')
  const releaseOfTheDead = await lock('left', 'the dead')
  utimesSync(path, new Date(0), new Date(0))
  const release = await lock('left', 'the living')
  releaseOfTheDead()
  expect(readFileSync(path, 'utf8')).toBe('the living')
  release()
  expect(existsSync(path)).toBe(false)
})

test('many that change the file of logins at once lose nothing of each other', async () => {
  const around = { environment: { XDG_CONFIG_HOME: folder }, clock: systemClock, random: systemRandom }
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      openCredentials(around).keepLogin(`http://${index}`, { apiKey: `${index}` }),
    ),
  )
  const file = openCredentials(around)
  for (let index = 0; index < 20; index++) expect(file.login(`http://${index}`)).toEqual({ apiKey: `${index}` })
})

test('what is kept while it is one’s turn does not wait for itself', async () => {
  const around = { environment: { XDG_CONFIG_HOME: folder }, clock: systemClock, random: systemRandom }
  const file = openCredentials(around)
  await file.inTurn(() => file.keepLogin('http://turn', { apiKey: 'kept' }))
  expect(file.login('http://turn')).toEqual({ apiKey: 'kept' })
})
