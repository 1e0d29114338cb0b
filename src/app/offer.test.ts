import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import { answering, gated } from '../../test/mock-provider.ts'
import { ConfigurationFault } from '../config/problem.ts'
import type { JsonObject } from '../providers/provider.ts'

let app: TestApp
let person: Person

const price = (version: number, input: number): string =>
  `{ version: ${version}, effective_from: 2026-0${version}-01T00:00:00Z, input_micro_per_m: ${input}, output_micro_per_m: 0 }`
const first = { prices: `[${price(1, 1_000_000)}]` }
const dearer = { prices: `[${price(1, 1_000_000)}, ${price(2, 5_000_000)}]` }

/** Its versions are looked up in the database at each reading, so that two readings could get in each other's way. */
const capabilities = `  - slug: demo-text
    name: Text
    upstream: { kind: demo }
    versions: [{ version: v1, operations: [{ slug: reverse, name: R, path: /reverse, price: { kind: fixed, micro: 1 } }] }]
`

beforeAll(async () => {
  app = await startTestApp({ ...first, capabilities })
})
beforeEach(async () => {
  person = await app.person()
  app.mock.behaviour = answering()
  await app.reload(first)
})
afterAll(() => app.stop())

/** A call has ten tokens of input. */
const cost = async (): Promise<string | null> => (await app.chat(person)).headers.get('x-credits-charged-micro')
const check = async (): Promise<JsonObject> =>
  ((await readAnswer(await fetch(`${app.url}/readyz`))).json.checks as JsonObject).configuration as JsonObject
const metrics = () => app.app.metrics.registry.metrics()
const shown = async (): Promise<JsonObject[]> =>
  (await readAnswer(await fetch(`${app.url}/v1/models`))).json.data as JsonObject[]

describe('a configuration that is read again', () => {
  test('changes prices for the next call; one in flight is charged by the price that it began with', async () => {
    expect(await cost()).toBe('10')
    const { behaviour, open } = gated(answering())
    app.mock.behaviour = behaviour
    app.mock.calls.length = 0
    const running = cost()
    await app.mock.arrived(1)
    const { outcome, lines } = await app.reload(dearer)
    expect([outcome, lines]).toEqual([
      'applied',
      [
        '~ model mock-model: new price version 2 from 2026-02-01T00:00:00.000Z: 5000000 in, 5000000 cached, 0 out (microcredits per million tokens)',
      ],
    ])
    open()
    expect(await running).toBe('10')
    app.mock.behaviour = answering()
    expect(await cost()).toBe('50')
    const holds = await app.database.sql<{ version: number }>(
      `select (detail->'price'->>'version')::int as version from holds where actor_account_id = $1 order by id`,
      [person.accountId],
    )
    expect(holds.map(({ version }) => version)).toEqual([1, 1, 2])
  })

  test('brings models and takes them away', async () => {
    const extra = `  - id: demo-new
    name: New
    context_length: 10
    max_output_tokens: 5
    default_output_tokens: 5
    providers: [{ provider: demo, model: chat }]
    prices: [${price(1, 1)}]
`
    const { lines } = await app.reload({ ...first, models: extra })
    expect(lines).toEqual([expect.stringMatching(/^\+ model demo-new: price version 1 /)])
    expect((await shown()).map(({ id }) => id)).toContain('demo-new')
    expect((await app.reload(first)).lines).toEqual(['- model demo-new'])
    expect((await shown()).map(({ id }) => id)).not.toContain('demo-new')
  })

  test('says what media and capabilities cost, with their units, tiers and every operation', async () => {
    const mediaModels = (tier: number): string => `
  - id: demo-film
    name: Film
    type: video
    providers: [{ provider: demo, model: video }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, unit: second, unit_price_micro: 100, tiers: [{ resolution: 4K, quality: high, unit_price_micro: ${tier} }] }]
`
    const operation = (slug: string, price: string): string =>
      `{ slug: ${slug}, name: N, path: /${slug}, price: ${price} }`
    const more = `${capabilities}  - slug: demo-more
    name: More
    upstream: { kind: demo }
    versions: [{ version: v1, operations: [${[
      operation('count', '{ kind: fixed, micro: 0 }'),
      operation('reverse', '{ kind: fixed, micro: 7 }'),
      operation('pig-latin', '{ kind: input_units, unit: character, micro: 2, at: /text, units_max: 10 }'),
      operation('filler', '{ kind: output_units, unit: word, micro: 3, at: /words, units_max: 20 }'),
    ].join(', ')}] }]
`
    const film = 'price version 1 from 2026-01-01T00:00:00.000Z'
    expect((await app.reload({ ...first, mediaModels: mediaModels(250), capabilities: more })).lines).toEqual([
      `+ model demo-film: ${film}: 250 for 4K high, 100 for each second (microcredits)`,
      '+ capability demo-more: v1 (count free, reverse 7 for each call, pig-latin 2 for each character of the input, at most 10, filler 3 for each word of the answer, at most 20; microcredits)',
    ])
    expect((await app.reload({ ...first, mediaModels: mediaModels(300), capabilities: more })).lines).toEqual([
      `! model demo-film: ${film}: 300 for 4K high, 100 for each second (microcredits), changed in place from ${film}: 250 for 4K high, 100 for each second (microcredits): add a version instead`,
    ])
    expect((await app.reload(first)).lines).toEqual(['- model demo-film', '- capability demo-more'])
  })

  test('and says the same changes nothing, and is recorded', async () => {
    expect(await app.reload(first)).toEqual({ outcome: 'unchanged', lines: [] })
    const [row] = await app.database.sql(
      'select outcome, lines from configuration_loads where process_id = $1 order by id desc limit 1',
      [app.app.processId],
    )
    expect(row).toEqual({ outcome: 'unchanged', lines: [] })
  })

  test('warns of a price that was changed in its place', async () => {
    const { lines } = await app.reload({ prices: `[${price(1, 2_000_000)}]` })
    expect(lines).toEqual([
      expect.stringMatching(/^! model mock-model: .*changed in place from .*add a version instead$/),
    ])
  })

  test('and is wrong changes nothing: log, metric and /readyz say so until it is mended', async () => {
    expect(await check()).toEqual({ ok: true })
    expect(await metrics()).toContain('farebox_configuration_ok 1')
    app.log.length = 0
    const { outcome, lines } = await app.reload({ prices: '[{ version: 1 }]' })
    expect([outcome, lines[0]]).toEqual(['refused', expect.stringContaining('`effective_from` is missing')])
    expect(await cost()).toBe('10')
    expect(await check()).toEqual({
      ok: false,
      detail: expect.stringMatching(/^refused at 2026-.*the settings of before stay in force: \d+ problems$/),
    })
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
    expect(await metrics()).toContain('farebox_configuration_ok 0')
    expect(app.log.join('')).toContain('the configuration was refused: the settings of before stay in force')
    await app.reload(dearer)
    expect(await check()).toEqual({ ok: true })
    expect(await cost()).toBe('50')
  })

  test('and cannot be read at all changes nothing either', async () => {
    const refused = await app.app.reload(() => {
      throw new Error('EIO')
    })
    expect(refused.outcome).toBe('refused')
    const faulty = await app.app.reload(() => {
      throw new ConfigurationFault([{ where: 'farebox.yaml:1', problem: 'Broken.', fix: 'Mend it.' }])
    })
    expect(faulty).toEqual({ outcome: 'refused', lines: ['farebox.yaml:1: Broken. Mend it.'] })
    expect(await cost()).toBe('10')
  })

  test('twice at the same time is read one after the other', async () => {
    const all = await Promise.all([app.reload(dearer), app.reload(dearer), app.reload(first)])
    expect(all.map(({ outcome }) => outcome)).toEqual(['applied', 'unchanged', 'applied'])
    expect(await cost()).toBe('10')
  })
})
