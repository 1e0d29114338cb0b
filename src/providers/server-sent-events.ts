import { StringDecoder } from 'node:string_decoder'

/** The largest event the splitter holds: 16 Mi UTF-16 code units, never more than its UTF-8 bytes. */
export const EVENT_LENGTH_MAX = 16 * 1024 * 1024

/** An event grew past EVENT_LENGTH_MAX before it ended. The stream cannot be continued. */
export class EventTooLarge extends Error {
  override name = 'EventTooLarge'
}

/**
 * Splits a stream of server-sent events, fed in pieces cut anywhere, into its `data` payloads. Lines end in
 * LF or CRLF; the data lines of one event are joined by LF; comments, other fields and events without data
 * are skipped; a leading BOM is dropped; ill-formed UTF-8 becomes U+FFFD. Throws EventTooLarge.
 */
export class EventSplitter {
  readonly #decoder = new StringDecoder('utf8')
  /** The pieces of a line whose end has not come; joined once, so a long line costs linear time. */
  #partial: string[] = []
  #partialLength = 0
  /** The data lines of the event whose empty line has not come. */
  #data: string | undefined
  #atStart = true

  /** The payloads of the events that end within `bytes`, in order. */
  push(bytes: Buffer): string[] {
    let text = this.#decoder.write(bytes)
    if (this.#atStart && text !== '') {
      this.#atStart = false
      if (text.startsWith(BOM)) text = text.slice(1)
    }
    const payloads: string[] = []
    let start = 0
    if (this.#partialLength > 0) {
      const end = text.indexOf('\n')
      if (end === -1) {
        this.#keep(text)
        return payloads
      }
      this.#keep(text.slice(0, end))
      const line = this.#partial.join('')
      this.#partial = []
      this.#partialLength = 0
      this.#line(line, payloads)
      start = end + 1
    }
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      // Nearly every event is one `data: ` line and an empty line: taken whole, without the state below.
      if (this.#data === undefined && text.charCodeAt(end + 1) === LF && text.startsWith('data: ', start)) {
        const stop = text.charCodeAt(end - 1) === CR ? end - 1 : end
        if (stop > start + 6) payloads.push(text.slice(start + 6, stop))
        start = end + 2
        continue
      }
      this.#line(text.slice(start, end), payloads)
      start = end + 1
    }
    if (start < text.length) this.#keep(text.slice(start))
    return payloads
  }

  /**
   * The payload of a last event that the end of the stream cut short of its empty line, if it has any: some
   * servers leave that line out, and the event may be the one that carries the usage.
   */
  end(): string[] {
    return this.push(Buffer.from('\n\n'))
  }

  #line(raw: string, payloads: string[]): void {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    if (line === '') {
      if (this.#data) payloads.push(this.#data)
      this.#data = undefined
      return
    }
    if (!line.startsWith('data')) return
    if (line.length > 4 && line.charCodeAt(4) !== COLON) return
    const value = line.slice(line.charCodeAt(5) === SPACE ? 6 : 5)
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    if (this.#data.length > EVENT_LENGTH_MAX) throw tooLarge()
  }

  #keep(piece: string): void {
    this.#partial.push(piece)
    this.#partialLength += piece.length
    if (this.#partialLength + (this.#data?.length ?? 0) > EVENT_LENGTH_MAX) throw tooLarge()
  }
}

const BOM = '\uFEFF'
const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58

const tooLarge = () => new EventTooLarge(`a streamed event exceeds ${EVENT_LENGTH_MAX} characters`)
