import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { CapabilityProvider, OperationCall, OperationOutcome } from '../capability.ts'
import type { JsonObject } from '../provider.ts'

type Demo = (call: OperationCall) => Promise<OperationOutcome> | OperationOutcome

/** How long a report takes. */
const REPORT_MS = 500

/** The built-in demos, by the path that farebox.yaml names. They answer offline, the same for the same input. */
const demos: Readonly<Record<string, Demo>> = {
  '/count': ({ input }) => {
    const text = textOf(input)
    return answer({ characters: [...text].length, words: wordsOf(text).length })
  },
  '/reverse': ({ input }) => answer({ text: [...textOf(input)].reverse().join('') }),
  '/pig-latin': ({ input }) => answer({ text: wordsOf(textOf(input)).map(pigLatin).join(' ') }),
  '/filler': ({ input }) => {
    const words = Array.from({ length: Number(input.words ?? 10) }, (_, index) => FILLER[index % FILLER.length])
    return answer({ text: words.join(' '), words: words.length })
  },
  '/notarize': ({ input, callId }) => {
    const digest = createHash('sha256').update(textOf(input)).digest('hex')
    return answer({ sha256: digest, receipt: `demo-${callId}-${digest.slice(0, 8)}` })
  },
  '/report': async ({ input, signal }) => {
    const words = wordsOf(textOf(input))
    const interrupted = await pause(REPORT_MS, false, { signal }).catch(() => true)
    if (interrupted) return { kind: 'lost', message: 'The demo was interrupted.' }
    const counts = Object.entries(Object.groupBy(words, (word) => word.toLowerCase()))
      .map(([word, found]) => ({ word, count: found?.length ?? 0 }))
      .sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1))
    return answer({ words: words.length, different_words: counts.length, most_frequent: counts.slice(0, 10) })
  },
}

/**
 * The capabilities that come with the program, to try billing without a service of one's own. A text that is
 * `fail:500` or `fail:400` is refused, `fail:timeout` is lost.
 */
export function createDemoCapability(): CapabilityProvider {
  return {
    async call(call) {
      const demo = Object.hasOwn(demos, call.path) ? demos[call.path] : undefined
      if (!demo) return { kind: 'refused', status: 404, message: `There is no demo at ${call.path}.` }
      return failureAsked(call.input) ?? demo(call)
    },
    retire: async () => undefined,
    close: async () => undefined,
  }
}

function failureAsked(input: JsonObject): OperationOutcome | undefined {
  const [, wanted] = /^fail:(\w+)$/.exec(textOf(input)) ?? []
  if (wanted === 'timeout') return { kind: 'lost', message: 'The demo did not answer, as it was asked.' }
  if (wanted === '500' || wanted === '400')
    return { kind: 'refused', status: Number(wanted), message: `The demo answered ${wanted}, as it was asked.` }
  return undefined
}

const answer = (data: JsonObject): OperationOutcome => ({ kind: 'answer', data })
const textOf = (input: JsonObject): string => (typeof input.text === 'string' ? input.text : '')
const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

/** `pig latin` is `igpay atinlay`. */
function pigLatin(word: string): string {
  const [, start = '', rest = ''] = /^([^aeiou]*)(.*)$/i.exec(word) ?? []
  return rest === '' ? `${start}ay` : `${rest}${start}ay`
}

const FILLER = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt'.split(' ')
