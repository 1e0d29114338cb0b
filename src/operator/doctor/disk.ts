import { statfs } from 'node:fs/promises'
import { type Check, failed, ok, skipped, warning } from './check.ts'

const MEBIBYTE = 1_048_576n
const WARNING_BELOW = 1024n * MEBIBYTE
const FAILED_BELOW = 128n * MEBIBYTE

/** Room on the disk of the data folder. The disk of a database on another machine cannot be asked. */
export async function checkDisk(dataFolder: string): Promise<Check> {
  const name = 'disk'
  const stats = await statfs(dataFolder, { bigint: true }).catch(() => undefined)
  if (stats === undefined) return skipped(name, `${dataFolder} is not there yet`)
  const free = stats.bavail * stats.bsize
  const found = `${free / MEBIBYTE} MiB free for ${dataFolder}`
  const fix = 'Make room: a database that cannot write cannot bill.'
  return free < FAILED_BELOW
    ? failed(name, found, fix)
    : free < WARNING_BELOW
      ? warning(name, found, fix)
      : ok(name, found)
}
