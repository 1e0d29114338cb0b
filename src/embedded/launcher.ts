import { type ChildProcess, spawn } from 'node:child_process'
import { chown, stat } from 'node:fs/promises'
import { PostgresUnavailable } from './unavailable.ts'

/** How this machine can run PostgreSQL, which refuses to run as root. */
export interface Launcher {
  /** Said in the log: "as this user", "in a user namespace", "as user 65534". */
  readonly way: string
  /** Starts a program in a session of its own, so that signals to our process group do not reach it. */
  spawn(file: string, args: readonly string[], output: number | 'pipe'): ChildProcess
  /** Gives a file or folder to the user PostgreSQL runs as. */
  own(path: string): Promise<void>
}

/** The end of a program: its exit code (undefined when it could not start or was ended) and what it printed. */
export interface Outcome {
  readonly code: number | undefined
  readonly output: string
}

type Environment = Readonly<Record<string, string | undefined>>
interface User {
  readonly uid: number
  readonly gid: number
}
/** One way to try: the programs put in front of PostgreSQL, and the user it runs as if not ours. */
interface Attempt {
  readonly way: string
  readonly prefix: readonly string[]
  readonly user?: User
}

const NAMESPACE = ['unshare', '--user', '--map-user=65534', '--map-group=65534']
/**
 * Succeeds when the folder and the program are within reach. To make a database, initdb also insists that its
 * user has a name, which a container's arbitrary uid has not.
 */
const PROBE = 'cd "$1" && "$2" --version && { [ -e cluster ] || id -un; }'
const DEATH_SIGNAL = ['setpriv', '--pdeathsig', 'INT']

/**
 * Finds a way to run the given PostgreSQL on the folder, which exists. Root has two: a user namespace in
 * which it is somebody else, or an unprivileged user who then owns the folder. Refuses when neither works.
 */
export async function findLauncher(postgres: string, folder: string, environment: Environment): Promise<Launcher> {
  const base = { environment: childEnvironment(environment), death: [] as readonly string[] }
  if (process.platform === 'linux') {
    const probe = await run(
      launcherFor({ way: '', prefix: [] }, base),
      DEATH_SIGNAL[0] ?? '',
      [...DEATH_SIGNAL.slice(1), 'true'],
      5_000,
    )
    // Without it a killed server leaves its database running; the next start then finds and ends it.
    if (probe.code === 0) base.death = DEATH_SIGNAL
  }
  const { uid: formerUid, gid: formerGid } = await stat(folder)
  const failures: string[] = []
  for (const attempt of await attempts(folder, base.environment)) {
    const launcher = launcherFor(attempt, base)
    await launcher.own(folder)
    const probe = await run(launcher, '/bin/sh', ['-c', PROBE, 'sh', folder, postgres], 10_000)
    if (probe.code === 0) return launcher
    const reason = probe.output.trim().split('\n').at(-1) || `ended with ${probe.code}`
    failures.push(`${attempt.way}: ${reason}`)
    if (attempt.user) await chown(folder, formerUid, formerGid)
  }
  throw new PostgresUnavailable(
    `The bundled PostgreSQL cannot run here (${failures.join('; ')}). Start the server as an ordinary user with a data folder of its own, or set DATABASE_URL to a PostgreSQL server.`,
  )
}

async function attempts(folder: string, environment: Record<string, string>): Promise<Attempt[]> {
  const onLinux = process.platform === 'linux'
  const namespace: Attempt = { way: 'in a user namespace', prefix: NAMESPACE }
  if (process.getuid?.() !== 0) {
    const ourselves: Attempt = { way: 'as this user', prefix: [] }
    return onLinux ? [ourselves, namespace] : [ourselves]
  }
  const nobody = await findNobody(environment)
  const asNobody: Attempt = { way: `as user ${nobody.uid}`, prefix: [], user: nobody }
  const { uid, gid } = await stat(folder)
  if (uid === 0) return onLinux ? [namespace, asNobody] : [asNobody]
  // A folder that an ordinary user made stays that user's, also when root starts the server once.
  const asOwner: Attempt = { way: `as user ${uid}`, prefix: [], user: { uid, gid } }
  const ownerRenamed: Attempt = { ...namespace, user: { uid, gid } }
  return onLinux ? [asOwner, ownerRenamed] : [asOwner]
}

async function findNobody(environment: Record<string, string>): Promise<User> {
  const plain = launcherFor({ way: '', prefix: [] }, { environment, death: [] })
  const idOf = async (option: string) => {
    const { code, output } = await run(plain, 'id', [option, 'nobody'], 5_000)
    return code === 0 ? Number(output) : 65534
  }
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

function launcherFor(
  { way, prefix, user }: Attempt,
  { environment, death }: { environment: Record<string, string>; death: readonly string[] },
): Launcher {
  return {
    way,
    spawn(file, args, output) {
      // The death signal comes last: a change of user or namespace after it may clear it.
      const [program = file, ...rest] = [...prefix, ...death, file, ...args]
      return spawn(program, rest, {
        detached: true,
        env: environment,
        stdio: ['ignore', output, output],
        // spawn takes signed numbers; macOS' nobody is -2.
        ...(user && { uid: user.uid | 0, gid: user.gid | 0 }),
      })
    },
    own: async (path) => {
      if (user) await chown(path, user.uid, user.gid)
    },
  }
}

/** Only what PostgreSQL needs: neither our secrets nor PG* variables that would change what it does. */
function childEnvironment(environment: Environment): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME, TMPDIR } = environment
  return { PATH, LC_ALL: 'C', ...(HOME && { HOME }), ...(TMPDIR && { TMPDIR }) }
}

/** Runs a program to its end and collects the last 16 KiB it printed. After `timeoutMs` it is killed. */
export function run(launcher: Launcher, file: string, args: readonly string[], timeoutMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = launcher.spawn(file, args, 'pipe')
    let output = ''
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-16_384)
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    child.on('error', (error) => {
      clearTimeout(timer)
      resolve({ code: undefined, output: error.message })
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code: code ?? undefined, output })
    })
  })
}
