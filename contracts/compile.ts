import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** What is committed of a compiled contract: enough to deploy and to call it. */
export interface Artifact {
  readonly abi: readonly object[]
  readonly bytecode: `0x${string}`
}

const sources = ['DevStablecoin.sol', 'LookAlikes.sol']
const folder = new URL('./', import.meta.url)

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<string, Record<string, { abi: object[]; evm: { bytecode: { object: string } } }>>
}

/**
 * Compiles the contracts, by path in the project. The metadata hash is left out of the bytecode, so that the
 * same sources give the same bytes on every machine.
 */
export async function compileContracts(): Promise<Record<string, string>> {
  const compiler = createRequire(import.meta.url)('solc') as { compile(input: string): string }
  const texts = await Promise.all(
    sources.map(async (name) => [name, { content: await readFile(new URL(name, folder), 'utf8') }]),
  )
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(texts),
    settings: {
      evmVersion: 'cancun',
      viaIR: true,
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  }
  const output = JSON.parse(compiler.compile(JSON.stringify(input))) as CompilerOutput
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.values(output.contracts)
      .flatMap(Object.entries<{ abi: object[]; evm: { bytecode: { object: string } } }>)
      .filter(([, contract]) => contract.evm.bytecode.object !== '')
      .map(([name, contract]) => {
        const artifact: Artifact = {
          abi: contract.abi,
          bytecode: `0x${contract.evm.bytecode.object}`,
        }
        return [`contracts/artifacts/${name}.json`, `${JSON.stringify(artifact, null, 2)}\n`]
      }),
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [path, text] of Object.entries(await compileContracts()))
    await writeFile(new URL(`../${path}`, folder), text)
}
