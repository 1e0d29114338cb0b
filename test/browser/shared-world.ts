import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildConsole, type RunningWorld, startWorld } from './running.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the world that all browser tests share writes how it is reached. */
    worldFile: string
  }
}

/** What stands in that file: the world, or why there is none. */
export type WorldFile = RunningWorld | { readonly failure: string }

/**
 * One server and one browser for all files of browser tests: each makes its own accounts and its own browser contexts.
 * Starting them takes seconds in which other tests can run already, so nobody waits for it here.
 */
// biome-ignore lint/style/noDefaultExport: the runner calls the default export
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-world-'))
  const file = join(folder, 'world.json')
  project.provide('worldFile', file)
  const tell = async (world: WorldFile): Promise<void> => {
    await writeFile(`${file}.part`, JSON.stringify(world), { mode: 0o600 })
    await rename(`${file}.part`, file)
  }
  const world = buildConsole()
    .then(startWorld)
    .then(
      async (started) => {
        await tell(started.running)
        return started
      },
      (error: unknown) => tell({ failure: String(error) }),
    )
  return async () => {
    await (await world)?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
