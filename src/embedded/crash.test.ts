import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { embeddedTests, killedAfter, mentions, owner, query, start, top, withoutPrograms } from './harness.ts'
import { databaseProcesses } from './processes.ts'

embeddedTests()

describe('after kill -9 of the server', () => {
  test.each([
    ['the death signal stops the database', [], false],
    ['without a death signal the next start stops the database', ['setpriv'], false],
    ['the database was killed as well', [], true],
  ] as const)('%s, and no acknowledged commit is lost', async (title, missing, killAll) => {
    const folder = join(top, title.replaceAll(' ', '-').slice(0, 20))
    const child = owner(folder, await withoutPrograms(...missing))
    let orphan = 0
    const acknowledged = await killedAfter(child, 200, (databasePid) => {
      orphan = databasePid
      child.kill('SIGKILL')
      if (killAll) process.kill(databasePid, 'SIGKILL')
    })
    if (process.platform === 'linux' && missing.length === 0) {
      while ((await databaseProcesses(join(folder, 'cluster'))).length > 0) await pause(5)
    }
    const { postgres, lines } = await start(folder)
    if (missing.length > 0) expect(lines.join('\n')).toContain('a former run left behind')
    expect((await databaseProcesses(join(folder, 'cluster'))).map(({ pid }) => pid)).not.toContain(orphan)
    const [row] = await query(postgres, `select count(*)::int as rows from paid where id <= ${acknowledged}`)
    expect(acknowledged).toBeGreaterThanOrEqual(200)
    expect(row?.rows).toBe(acknowledged)
    await postgres.stop()
    expect(await mentions(folder)).toEqual([])
  })

  test.each([false, true])(
    'in the middle of initdb the next start heals the folder (initdb killed as well: %s)',
    async (killAll) => {
      const folder = join(top, `half-${killAll}`)
      const partial = join(folder, 'cluster.partial')
      const child = owner(folder, await withoutPrograms('setpriv'))
      const closed = once(child, 'close')
      while (!existsSync(join(partial, 'PG_VERSION'))) await pause(1)
      child.kill('SIGKILL')
      if (killAll) for (const { pid } of await databaseProcesses(partial)) process.kill(pid, 'SIGKILL')
      await closed
      expect(existsSync(join(folder, 'cluster'))).toBe(false)
      const { postgres } = await start(folder)
      expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
      await postgres.stop()
      expect(existsSync(partial)).toBe(false)
    },
  )
})
