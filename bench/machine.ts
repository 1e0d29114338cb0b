import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Where a run was made, as names and values for the report. */
export type Machine = Readonly<Record<string, string>>

const root = fileURLToPath(new URL('../', import.meta.url))

/** The machine as it is now. `postgresVersion`: what the database itself says. */
export async function describeMachine(postgresVersion: string): Promise<Machine> {
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const processors = cpus()
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: String(processors.length),
    memory: `${Math.round(totalmem() / 1024 ** 3)} GiB`,
    system: /^PRETTY_NAME="?([^"\n]+)/m.exec(system)?.[1] ?? type(),
    kernel: release(),
    node: process.version,
    PostgreSQL: postgresVersion,
    'load average before': loadavg()
      .map((load) => load.toFixed(2))
      .join(' '),
  }
}

/** The commit that is measured, and whether files differ from it. */
export async function describeCommit(): Promise<{ commit: string; changed: boolean }> {
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: root }).then(({ stdout }) => stdout.trim())
  try {
    const [commit, status] = await Promise.all([
      git('rev-parse', '--short=10', 'HEAD'),
      git('status', '--porcelain', '--untracked-files=no'),
    ])
    return { commit, changed: status !== '' }
  } catch {
    return { commit: 'unknown', changed: true }
  }
}
