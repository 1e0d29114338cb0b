import { createHash } from 'node:crypto'

/** The first line of every file names it. */
export const FORMAT = 'farebox-ledger/1'
/** Lines of a block at most, its own line not counted. */
export const BLOCK_LINES = 1000
/** What the first block follows. */
export const NO_BLOCK = '0'.repeat(64)

/** The system accounts, and which of them each kind of movement goes from or to. */
export const otherSides: Readonly<Record<string, { readonly names: readonly string[]; readonly isDebit: boolean }>> = {
  grant: { names: ['issued_for_payment', 'issued_without_payment'], isDebit: true },
  capture: { names: ['revenue'], isDebit: false },
  refund: { names: ['revenue'], isDebit: true },
  expiry: { names: ['expired'], isDebit: false },
  reversal: { names: ['issued_for_payment'], isDebit: false },
}

/** A line of the file before it has its number and its check. Amounts are digits: microcredits, whole. */
export type Content = { readonly line: 'head' | 'account' | 'movement' | 'closing' } & Readonly<Record<string, unknown>>

/** SHA-256 in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The check of a line: by it a changed line is told from its neighbours. What proves the file is the chain. */
const checkOf = (body: string): string => sha256(body).slice(0, 16)

/** A line as it is written, with its check as last field. */
export function withCheck(value: Readonly<Record<string, unknown>>): string {
  const body = JSON.stringify(value)
  return `${body.slice(0, -1)},"check":"${checkOf(body)}"}`
}

/** A line without its check; undefined when it has none that fits. */
export function withoutCheck(text: string): string | undefined {
  const parts = /^(.*),"check":"([0-9a-f]{16})"\}$/s.exec(text)
  const body = `${parts?.[1] ?? ''}}`
  return parts && checkOf(body) === parts[2] ? body : undefined
}

/** Numbers lines and closes a block after each BLOCK_LINES of them, each with the hash of the block before it. */
export function createChain(): {
  /** The text of a line, and of the block's line where it is the last of one. */
  add(content: Content): string
  /** The last block if it is open, and the end, which holds the totals. Gives the hash of the whole chain too. */
  end(totals: Readonly<Record<string, unknown>>): { text: string; hash: string }
} {
  let number = 0
  let blocks = 0
  let lines = 0
  let previous = NO_BLOCK
  let hash = createHash('sha256').update(`${previous}\n`)
  const close = (): string => {
    const digest = hash.digest('hex')
    const { text } = numbered({ line: 'block', block: ++blocks, lines, previous, hash: digest })
    previous = digest
    hash = createHash('sha256').update(`${previous}\n`)
    lines = 0
    return text
  }
  const numbered = ({ line, ...rest }: { line: string } & Readonly<Record<string, unknown>>) => ({
    text: `${withCheck({ line, n: ++number, ...rest })}\n`,
  })
  return {
    add(content) {
      const { text } = numbered(content)
      hash.update(text)
      lines += 1
      return lines === BLOCK_LINES ? text + close() : text
    },
    end(totals) {
      const last = lines > 0 ? close() : ''
      const body = { line: 'end', n: ++number, blocks, ...totals, previous }
      const digest = sha256(JSON.stringify(body))
      return { text: `${last}${withCheck({ ...body, hash: digest })}\n`, hash: digest }
    },
  }
}
