import { readFile, rename, stat, writeFile } from 'node:fs/promises'

/** A chain that makes a block every two seconds writes some 75 MB a day, nearly all of them empty blocks. */
const TRIM_OVER_BYTES = 16 * 1024 * 1024
/** More than the watcher remembers, and more than it reads at once. */
const KEPT_BLOCKS = 2_500

interface State {
  readonly best_block_number: string | number
  readonly blocks: readonly {
    readonly header: { readonly number: string }
    readonly transactions: readonly unknown[]
  }[]
}

/**
 * Takes old blocks without transactions out of a development chain's file, when it has grown large: the chain runs on
 * without them. Leaves alone what it cannot read. Only while the chain is stopped.
 */
export async function trimChainState(path: string, overBytes = TRIM_OVER_BYTES, kept = KEPT_BLOCKS): Promise<void> {
  const size = await stat(path).then(
    (file) => file.size,
    () => 0,
  )
  if (size <= overBytes) return
  const state = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as State,
    () => undefined,
  )
  if (!Array.isArray(state?.blocks)) return
  const newest = Number(state.best_block_number)
  const needed = ({ header, transactions }: State['blocks'][number]): boolean =>
    Number(header.number) === 0 || Number(header.number) > newest - kept || transactions.length > 0
  await writeFile(`${path}.partial`, JSON.stringify({ ...state, blocks: state.blocks.filter(needed) }), { mode: 0o600 })
  await rename(`${path}.partial`, path)
}
