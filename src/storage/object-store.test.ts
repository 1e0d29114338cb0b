import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { AwsV4Signer } from 'aws4fetch'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fakeS3, signatureOf } from '../../test/s3.ts'
import { systemClock } from '../kernel/clock.ts'
import { openLocalStore } from './local.ts'
import { keyOf, type ObjectName, type ObjectStore, objectName, StoreUnavailable } from './object-store.ts'
import { openS3Store } from './s3.ts'
import { SpoolFull, spool, sweep } from './spool.ts'

/** Of no body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

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

  test('is refused while its clock is more than a quarter of an hour off, and says so', async () => {
    const behind = { ...systemClock, now: () => new Date(Date.now() - 16 * 60_000) }
    const store = openS3Store({ ...s3Options, clock: behind })
    const refusal = await store.put(name('2026-12-01', 'x.png'), await spooled('x')).catch((error: Error) => error)
    expect(String(refusal)).toMatch(/403 RequestTimeTooSkewed/)
    await store.close()
  })

  test('is the only one who reads the bucket: no request without its signature, or changed after it, is answered', async () => {
    await stores.s3?.put(name('2026-12-01', 'private.png'), await spooled('private'))
    const url = `${s3.url}/pictures/results/2026-12-01/private.png`
    const { id: accessKeyId, secret: secretAccessKey } = s3.accessKey
    const signed = async (options: { method?: string; signQuery?: boolean; url?: string } = {}) => {
      const headers = options.signQuery ? {} : { 'x-amz-content-sha256': EMPTY_SHA256 }
      return new AwsV4Signer({
        url,
        headers,
        accessKeyId,
        secretAccessKey,
        service: 's3',
        region: 'us-east-1',
        ...options,
      }).sign()
    }
    const statusOf = async (to: string | URL, headers: Headers | Record<string, string> = {}, method = 'GET') =>
      (await fetch(to, { method, headers })).status
    const good = await signed()
    expect(await statusOf(good.url, good.headers)).toBe(200)
    expect(await statusOf(url)).toBe(403)
    expect(await statusOf(url, { authorization: 'AWS4-HMAC-SHA256 Credential=x' })).toBe(403)
    expect(await statusOf(url.replace('private', 'other'), good.headers)).toBe(403)
    expect(await statusOf(url, good.headers, 'DELETE')).toBe(403)
    expect(await statusOf(url, { ...Object.fromEntries(good.headers), 'x-amz-date': '20260101T000000Z' })).toBe(403)
    // a presigned address is nothing that anybody is ever given
    expect(await statusOf((await signed({ signQuery: true })).url)).toBe(403)
    expect(await stores.s3?.size(name('2026-12-01', 'private.png'))).toBe(7)
  })

  test('is checked by a bucket that signs the published example of the protocol as it is published', () => {
    const headers = {
      host: 'examplebucket.s3.amazonaws.com',
      range: 'bytes=0-9',
      'x-amz-content-sha256': EMPTY_SHA256,
      'x-amz-date': '20130524T000000Z',
    }
    const request = {
      method: 'GET',
      url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
      headers,
      bodyHash: EMPTY_SHA256,
      time: headers['x-amz-date'],
    }
    expect(signatureOf(request, 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY')).toBe(
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
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
