import { createHash, type Hash } from 'node:crypto'
import { FORMAT, NO_BLOCK, otherSides, sha256, withCheck, withoutCheck } from './export-format.ts'

/** What is wrong with a file, and where. */
export interface Flaw {
  readonly line: number
  readonly message: string
}

/** What a whole file holds. */
export interface Summary {
  readonly from: string
  readonly to: string
  readonly accounts: number
  readonly movements: number
  readonly openingMicro: bigint
  readonly closingMicro: bigint
  readonly hash: string
}

type Fields = Readonly<Record<string, unknown>>

/** As many flaws as are told: after them the rest of a file says nothing new. */
const FLAWS_MAX = 20

/** Micro amounts are digits without a sign; totals of system accounts may have one. */
const isAmount = (value: unknown): value is string => typeof value === 'string' && /^\d{1,24}$/.test(value)

/**
 * Checks an export line by line: each line's own check, the numbers of the lines, the chain of blocks, that every
 * movement goes from a debit to a credit as its kind does, that balances run from opening to closing without a gap, and
 * the totals at the end. Holds one account at a time, whatever the length of the file.
 */
export class ExportCheck {
  readonly flaws: Flaw[] = []
  #n = 0
  #head: Fields | undefined
  #ended: Fields | undefined
  #block = { number: 0, lines: 0, first: 1, previous: NO_BLOCK, hash: started(NO_BLOCK) }
  #account: { id: number; balance: bigint; lastId: number; movements: number } | undefined
  #lastAccount = 0
  #sums = { accounts: 0, movements: 0, opening: 0n, closing: 0n }
  readonly #kinds: Record<string, bigint> = { grant: 0n, capture: 0n, refund: 0n, expiry: 0n, reversal: 0n }
  readonly #sides: Record<string, bigint> = {}

  get isFull(): boolean {
    return this.flaws.length >= FLAWS_MAX
  }

  /** The next line of the file, without its end. */
  line(text: string): void {
    this.#n += 1
    if (this.#ended) {
      this.#flaw('follows the end of the file')
      return
    }
    const value = parsed(text)
    if (value === undefined) {
      this.#flaw('is no line of an export')
      this.#hash(text)
      return
    }
    if (withoutCheck(text) === undefined) this.#flaw('was changed after it was written: its check does not fit')
    if (value.n !== this.#n) this.#flaw(`is numbered ${String(value.n)}: lines are missing, were added or moved`)
    if (this.#n === 1 && value.line !== 'head') this.#flaw('is no head: the beginning of the file is missing')
    if (value.line === 'block') {
      this.#closeBlock(value, text)
      return
    }
    if (value.line === 'end') {
      this.#end(value)
      return
    }
    this.#hash(text)
    this.#content(value)
  }

  /** The file has ended. Gives what it holds; undefined when anything is wrong. */
  finish(): Summary | undefined {
    if (!this.#ended) this.flaws.push({ line: this.#n, message: 'is the last line: the end of the file is missing' })
    if (this.flaws.length > 0 || !this.#head) return undefined
    const { accounts, movements, opening, closing } = this.#sums
    return {
      from: String(this.#head.from),
      to: String(this.#head.to),
      accounts,
      movements,
      openingMicro: opening,
      closingMicro: closing,
      hash: String(this.#ended?.hash),
    }
  }

  #flaw(message: string): void {
    if (!this.isFull) this.flaws.push({ line: this.#n, message })
  }

  #hash(text: string): void {
    this.#block.hash.update(`${text}\n`)
    this.#block.lines += 1
  }

  #content(value: Fields): void {
    switch (value.line) {
      case 'head':
        if (this.#head) this.#flaw('is a second head')
        if (value.format !== FORMAT)
          this.#flaw(`is of the format ${String(value.format)}, this program checks ${FORMAT}`)
        this.#head = value
        return
      case 'account':
        this.#open(value)
        return
      case 'movement':
        this.#move(value)
        return
      case 'closing':
        this.#close(value)
        return
      default:
        this.#flaw(`is of the unknown kind ${String(value.line)}`)
    }
  }

  #open(value: Fields): void {
    const id = Number(value.account_id)
    if (this.#account) this.#flaw(`begins account ${id} before account ${this.#account.id} is closed`)
    if (!(id > this.#lastAccount)) this.#flaw(`begins account ${id} after account ${this.#lastAccount}`)
    if (!isAmount(value.opening_micro)) {
      this.#flaw('has no opening balance')
      return
    }
    this.#lastAccount = id
    this.#account = { id, balance: BigInt(value.opening_micro), lastId: 0, movements: 0 }
    this.#sums.opening += this.#account.balance
  }

  #move(value: Fields): void {
    const account = this.#account
    if (!account || value.account_id !== account.id) {
      this.#flaw(`is a movement of account ${String(value.account_id)} outside of that account`)
      return
    }
    const { amount_micro: amountText, balance_after_micro: balanceText, kind } = value
    if (!isAmount(amountText) || !isAmount(balanceText) || amountText === '0') {
      this.#flaw('has an amount or a balance that is no number of microcredits')
      return
    }
    const id = Number(value.id)
    if (!(id > account.lastId)) this.#flaw(`is movement ${id} after movement ${account.lastId}`)
    const amount = BigInt(amountText)
    const side = otherSides[String(kind)]
    const [system, bucket] = side?.isDebit ? [value.debit, value.credit] : [value.credit, value.debit]
    if (!side?.names.includes(String(system)) || !/^bucket:\d+$/.test(String(bucket)))
      this.#flaw(
        `is not balanced: a ${String(kind)} does not go from ${String(value.debit)} to ${String(value.credit)}`,
      )
    const signed = side?.isDebit ? amount : -amount
    const balance = BigInt(balanceText)
    if (account.balance + signed !== balance)
      this.#flaw(
        `does not add up: ${account.balance} and ${signed} make ${account.balance + signed}, not ${balance}. Its amount is wrong, or movements before it are missing`,
      )
    account.balance = balance
    account.lastId = id
    account.movements += 1
    this.#sums.movements += 1
    this.#kinds[String(kind)] = (this.#kinds[String(kind)] ?? 0n) + amount
    this.#sides[String(system)] = (this.#sides[String(system)] ?? 0n) - signed
  }

  #close(value: Fields): void {
    const account = this.#account
    this.#account = undefined
    if (!account || value.account_id !== account.id) {
      this.#flaw(`closes account ${String(value.account_id)}, which is not open`)
      return
    }
    if (value.closing_micro !== String(account.balance))
      this.#flaw(`closes with ${String(value.closing_micro)}; the movements make ${account.balance}`)
    if (value.movements !== account.movements)
      this.#flaw(`counts ${String(value.movements)} movements; there are ${account.movements}`)
    this.#sums.accounts += 1
    this.#sums.closing += account.balance
  }

  #closeBlock(value: Fields, text: string): void {
    const { number, lines, first, previous, hash } = this.#block
    const where = `block ${number + 1}, lines ${first} to ${this.#n - 1}`
    const digest = hash.digest('hex')
    if (value.block !== number + 1 || value.lines !== lines || value.previous !== previous)
      this.#flaw(`does not follow the block before it (${where}): lines or blocks are missing, were added or moved`)
    if (value.hash !== digest) this.#flaw(`holds another hash than its lines make: something in ${where} was changed`)
    const whole = {
      line: 'block',
      n: value.n,
      block: value.block,
      lines: value.lines,
      previous: value.previous,
      hash: value.hash,
    }
    if (text !== withCheck(whole)) this.#flaw('has more than a block has')
    // what follows is judged by what this block says, so that one flaw is told once
    const next = typeof value.hash === 'string' ? value.hash : digest
    this.#block = { number: number + 1, lines: 0, first: this.#n + 1, previous: next, hash: started(next) }
  }

  #end(value: Fields): void {
    this.#ended = value
    const { check: _check, hash, ...body } = value
    if (hash !== sha256(JSON.stringify(body))) this.#flaw('holds another hash than it makes: the totals were changed')
    if (this.#account) this.#flaw(`ends the file before account ${this.#account.id} is closed`)
    if (this.#block.lines > 0) this.#flaw(`ends the file with lines that are in no block (${this.#block.first} on)`)
    if (value.previous !== this.#block.previous || value.blocks !== this.#block.number)
      this.#flaw('does not follow the last block: blocks are missing at the end')
    const { accounts, movements, opening, closing } = this.#sums
    const expected = {
      accounts,
      movements,
      opening_micro: String(opening),
      closing_micro: String(closing),
      kinds: digits(this.#kinds),
      system_accounts: digits(this.#sides),
    }
    for (const [name, sum] of Object.entries(expected)) {
      const [says, made] = [JSON.stringify(value[name]), JSON.stringify(sum)]
      if (says !== made) this.#flaw(`says ${name} is ${says}; the lines make ${made}`)
    }
    const moved = Object.values(this.#sides).reduce((sum, side) => sum + side, 0n)
    if (opening - moved !== closing) this.#flaw('does not add up: opening and movements do not make closing')
  }
}

const started = (previous: string): Hash => createHash('sha256').update(`${previous}\n`)

const digits = (sums: Readonly<Record<string, bigint>>) =>
  Object.fromEntries(
    Object.entries(sums)
      .sort()
      .map(([name, sum]) => [name, String(sum)]),
  )

function parsed(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}
