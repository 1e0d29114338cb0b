import { readdir, readFile } from 'node:fs/promises'

/** A tick of /proc/<pid>/stat: a hundredth of a second on every Linux in use. */
const TICK_MICROSECONDS = 10_000

/** Processor time that a process has used so far, in microseconds; undefined where the system does not tell (no /proc). */
export async function processorMicroseconds(pid: number): Promise<number | undefined> {
  return (await ticksOf(String(pid)))?.own
}

/** The same for a process with its children, those that have ended included: PostgreSQL with its backends. */
export async function familyMicroseconds(pid: number): Promise<number | undefined> {
  const parent = await ticksOf(String(pid))
  if (parent === undefined) return undefined
  let total = parent.own + parent.ended
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const ticks = await ticksOf(name)
    if (ticks?.parent === pid) total += ticks.own
  }
  return total
}

async function ticksOf(pid: string): Promise<{ parent: number; own: number; ended: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // the second field is a name in parentheses, which may hold anything: the rest is counted from its end
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [, parent, , , , , , , , , , user, system, endedUser, endedSystem] = fields
  if (parent === undefined || user === undefined || system === undefined) return undefined
  const ended = ((endedUser ?? 0) + (endedSystem ?? 0)) * TICK_MICROSECONDS
  return { parent, own: (user + system) * TICK_MICROSECONDS, ended }
}
