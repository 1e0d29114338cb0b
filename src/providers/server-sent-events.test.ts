import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EVENT_LENGTH_MAX, EventSplitter, EventTooLarge } from './server-sent-events.ts'

/** All payloads of `pieces` fed one after the other. */
function payloadsOf(...pieces: (string | Buffer)[]): string[] {
  const splitter = new EventSplitter()
  return pieces.flatMap((piece) => splitter.push(Buffer.from(piece)))
}

describe('the event splitter', () => {
  test('yields the data of whole events in order', () => {
    expect(payloadsOf('data: {"a":1}\n\ndata: {"b":2}\n\n')).toEqual(['{"a":1}', '{"b":2}'])
  })

  test('takes CRLF, a missing space after the colon, and data lines joined by LF', () => {
    expect(payloadsOf('data:a\r\ndata: b\r\n\r\ndata:  c\n\n')).toEqual(['a\nb', ' c'])
  })

  test('skips comments, other fields and events without data', () => {
    expect(payloadsOf(': ping\n\nevent: x\nid: 7\n\ndatabase: no\n\ndata\n\ndata: \n\ndata: y\n\n')).toEqual(['y'])
  })

  test('drops a leading BOM even when its bytes are cut', () => {
    const bytes = Buffer.from('\uFEFFdata: x\n\n')
    expect(payloadsOf(bytes.subarray(0, 2), bytes.subarray(2))).toEqual(['x'])
  })

  test('any cut of the bytes gives the same payloads', () => {
    const eol = fc.constantFrom('\n', '\r\n')
    const word = fc.string({
      unit: fc.constantFrom('a', ':', ' ', 'é', '漢', '🦊', '{', '"'),
      maxLength: 8,
    })
    const line = fc
      .tuple(fc.constantFrom('data: ', 'data:', ': ', 'event: ', ''), word, eol)
      .map((parts) => parts.join(''))
    const stream = fc.tuple(fc.constantFrom('', '\uFEFF'), fc.array(line)).map(([bom, lines]) => bom + lines.join(''))
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200)), (text, cuts) => {
        const bytes = Buffer.from(text)
        const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge))
        expect(payloadsOf(...pieces)).toEqual(payloadsOf(bytes))
      }),
      { numRuns: 500 },
    )
  })

  test('payloads survive being written as events, whatever they contain', () => {
    const payload = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\r\n]/.test(text))
    fc.assert(
      fc.property(fc.array(payload), (payloads) => {
        expect(payloadsOf(payloads.map((text) => `data: ${text}\n\n`).join(''))).toEqual(payloads)
      }),
    )
  })

  test('hands over a last event that lacks its empty line when the stream ends', () => {
    const splitter = new EventSplitter()
    expect(splitter.push(Buffer.from('data: last'))).toEqual([])
    expect(splitter.end()).toEqual(['last'])
    expect(splitter.end()).toEqual([])
  })

  test('refuses an event over the limit, on one line or on many', () => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const pushed = (line: Buffer) => () => {
      const splitter = new EventSplitter()
      splitter.push(Buffer.from('data: '))
      for (let length = 0; length <= EVENT_LENGTH_MAX; length += line.length) splitter.push(line)
    }
    expect(pushed(piece)).toThrow(EventTooLarge)
    expect(pushed(Buffer.concat([piece, Buffer.from('\ndata: ')]))).toThrow(EventTooLarge)
  })
})
