import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { happening } from '../console/src/pages/operator/money/happenings.ts'

test.each(['orders', 'axon', 'x402'])(
  'every event of the table of %s has words on the page of a payment in review',
  async (rail) => {
    const states = await readFile(new URL(`../src/payments/${rail}/states.ts`, import.meta.url), 'utf8')
    const [, union = ''] = /export type Event =(.*?)\n\n/s.exec(states) ?? []
    const events = [...union.matchAll(/'(\w+)'/g)].map(([, event = '']) => event)
    expect(events.length).toBeGreaterThan(5)
    expect(events.filter((event) => happening(event) === event.replaceAll('_', ' '))).toEqual([])
  },
)
