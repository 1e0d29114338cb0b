import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fakeS3 } from '../../test/s3.ts'
import { systemClock } from '../kernel/clock.ts'
import { openLocalStore } from './local.ts'
import { keyOf, type ObjectName, type ObjectStore, objectName, StoreUnavailable } from './object-store.ts'
import { openS3Store } from './s3.ts'
import { SpoolFull, spool, sweep } from './spool.ts'

const folder = mkdtempSync(join(tmpdir(), 'farebox-storage-'))
const s3 = await fakeS3()
const s3Options = {
  endpoint: s3.url,
  region: 'us-east-1',
  bucket: 'pictures',
  prefix: 'results/',
  addressStyle: 'path',
  accessKey: s3.accessKey,
  timeoutMs: 10_000,
  clock: systemClock,
} as const
const stores: Record<string, ObjectStore> = { local: openLocalStore(join(folder, 'kept')), s3: openS3Store(s3Options) }
afterAll(async () => {
  for (const store of Object.values(stores)) await store.close()
  s3.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  s3.broken = undefined
})

let files = 0
const spooled = async (text: string) => {
  files += 1
  const file = await spool(join(folder, 'incoming'), `f${files}`, 1_000_000)
  await file.write(Buffer.from(text))
  return { ...(await file.finish()), contentType: 'image/png' }
}
const name = (day: string, file = 'a.png'): ObjectName => ({ day, file })

describe.each(Object.keys(stores))('a store of kind %s', (kind) => {
  const store = stores[kind] as ObjectStore
  const textOf = async (of: ObjectName, range?: { first: number; last: number }) => {
    const content = await store.read(of, range)
    return content && { bytes: content.bytes, text: (await buffer(content.stream)).toString() }
  }

  test('gives back what it was given, whole and in part, and takes the spooled file away', async () => {
    const of = name('2026-12-01')
    const file = await spooled('0123456789')
    await store.put(of, file)
    expect(await store.size(of)).toBe(10)
    expect(await textOf(of)).toEqual({ bytes: 10, text: '0123456789' })
    expect(await textOf(of, { first: 2, last: 4 })).toEqual({ bytes: 10, text: '234' })
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
  })

  test('knows nothing of what is not there', async () => {
    expect(await store.size(name('2026-12-01', 'none.png'))).toBeUndefined()
    expect(await store.read(name('2027-01-01'))).toBeUndefined()
    expect(await store.deleteBefore('2020-01-01', 10)).toBe(0)
  })

  test('puts the same name again', async () => {
    const of = name('2026-12-01', 'twice.png')
    await store.put(of, await spooled('one'))
    await store.put(of, await spooled('two!'))
    expect(await textOf(of)).toEqual({ bytes: 4, text: 'two!' })
  })

  test('deletes what is too old in batches, day by day, and nothing else', async () => {
    const days = ['2026-01-01', '2026-01-02', '2026-01-03']
    for (const day of days)
      for (const file of ['a.png', 'b.png', 'c.png', 'd.png', 'e.png'])
        await store.put(name(day, file), await spooled(file))
    const deleted: number[] = []
    do deleted.push(await store.deleteBefore('2026-01-03', 4))
    while (deleted.at(-1) !== 0 && deleted.length < 20)
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(10)
    expect(Math.max(...deleted)).toBeLessThanOrEqual(4)
    expect(await store.size(name('2026-01-02'))).toBeUndefined()
    expect(await textOf(name('2026-01-03'))).toEqual({ bytes: 5, text: 'a.png' })
  })
})

describe('the S3 store', () => {
  test('touches nothing outside its prefix', async () => {
    s3.objects.set('other/2020-01-01/a.png', { bytes: Buffer.from('x'), contentType: undefined })
    s3.objects.set('results/readme.txt', { bytes: Buffer.from('x'), contentType: undefined })
    await stores.s3?.deleteBefore('2026-01-01', 100)
    expect([...s3.objects.keys()]).toEqual(expect.arrayContaining(['other/2020-01-01/a.png', 'results/readme.txt']))
  })

  test('says what kind of file an object is', async () => {
    await stores.s3?.put(name('2026-12-01', 'typed.png'), await spooled('x'))
    expect(s3.objects.get('results/2026-12-01/typed.png')?.contentType).toBe('image/png')
  })

  test('is refused with another secret, in words that name no key', async () => {
    const accessKey = { id: s3.accessKey.id, secret: 'another-secret' }
    const store = openS3Store({ ...s3Options, accessKey })
    const refusal = await store.put(name('2026-12-01', 'x.png'), await spooled('x')).catch((error: Error) => error)
    expect(refusal).toBeInstanceOf(StoreUnavailable)
    expect(String(refusal)).toMatch(/403 SignatureDoesNotMatch/)
    expect(String(refusal)).not.toMatch(/secret|TESTKEY/)
    await store.close()
  })

  test('is unavailable when the service fails, breaks off or is not there', async () => {
    const store = stores.s3 as ObjectStore
    for (const broken of [500, 503, 0]) {
      s3.broken = broken
      await expect(store.size(name('2026-12-01'))).rejects.toBeInstanceOf(StoreUnavailable)
      await expect(store.read(name('2026-12-01'))).rejects.toBeInstanceOf(StoreUnavailable)
      await expect(store.put(name('2026-12-01', 'x.png'), await spooled('x'))).rejects.toBeInstanceOf(StoreUnavailable)
      await expect(store.deleteBefore('2026-12-01', 10)).rejects.toBeInstanceOf(StoreUnavailable)
    }
    const nowhere = openS3Store({ ...s3Options, endpoint: 'http://127.0.0.1:1' })
    await expect(nowhere.size(name('2026-12-01'))).rejects.toBeInstanceOf(StoreUnavailable)
    await nowhere.close()
  })
})

describe('a spooled file', () => {
  test('ends at its limit, and leaves nothing behind', async () => {
    const file = await spool(join(folder, 'incoming'), 'full', 10)
    await file.write(Buffer.alloc(10))
    await expect(file.write(Buffer.alloc(1))).rejects.toBeInstanceOf(SpoolFull)
    expect((await file.at(8, 100)).length).toBe(2)
    await file.discard()
    await file.discard()
    expect(readdirSync(join(folder, 'incoming'))).not.toContain('full')
  })

  test('that a crash left is swept when it is old', async () => {
    await writeFile(join(folder, 'incoming', 'left'), 'x')
    expect(await sweep(join(folder, 'incoming'), new Date(0))).toBe(0)
    expect(await sweep(join(folder, 'incoming'), new Date(8e15))).toBeGreaterThan(0)
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
    expect(await sweep(join(folder, 'nowhere'), new Date(8e15))).toBe(0)
  })
})

test('only keys of our own form are names: none leads out of the store', () => {
  expect(objectName('2026-11-27/ab-C_9.png')).toEqual({ day: '2026-11-27', file: 'ab-C_9.png' })
  expect(keyOf({ day: '2026-11-27', file: 'a.png' })).toBe('2026-11-27/a.png')
  for (const key of [
    '',
    '2026-11-27',
    '../a.png',
    '2026-11-27/../a.png',
    '2026-11-27/a',
    '2026-11-27/.png',
    '2026-11-27/a.png/b',
    'x/a.png',
    '2026-11-27/a%2f.png',
  ])
    expect(objectName(key), key).toBeUndefined()
})
