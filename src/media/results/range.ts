import type { ByteRange } from '../../storage/object-store.ts'

/**
 * What a Range header asks for of something of `bytes` length (RFC 9110, 14.2): one part, `whole` when there is none or
 * when it is of a form that may be ignored, `unsatisfiable` when it lies outside.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (from === '' && to === '') return 'whole'
  if (from === '') {
    const length = Math.min(Number(to), bytes)
    return length === 0 ? 'unsatisfiable' : { first: bytes - length, last: bytes - 1 }
  }
  const [first, last] = [Number(from), to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1)]
  if (to !== '' && Number(to) < first) return 'whole'
  return first >= bytes ? 'unsatisfiable' : { first, last }
}
