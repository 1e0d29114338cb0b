import { expect, test } from 'vitest'
import { readConfigurationFile } from './file.ts'
import { mediaPriceInForce, readMediaModels } from './media-models.ts'

const NOW = new Date('2026-06-01T00:00:00Z')
const CHAT = `
providers: { demo: { kind: demo } }
models:
  - { id: demo-chat, name: x, context_length: 9, max_output_tokens: 9, default_output_tokens: 9, providers: [{ provider: demo, model: chat }] }
`
const price = (fields: string): string =>
  `{ version: 1, effective_from: 2026-01-01T00:00:00Z, unit: image, unit_price_micro: 5, ${fields} }`
const model = (fields: string, prices = price('')): string =>
  `  - { id: demo-image, name: x, type: image, providers: [{ provider: demo, model: image }], prices: [${prices}], ${fields} }\n`

const read = (models: string) => {
  const file = readConfigurationFile(`${CHAT}media_models:\n${models}`, 'test.yaml')
  const { mediaModels, problems } = readMediaModels(file, NOW)
  return { mediaModels, problems: [...file.problems, ...problems].map(({ problem, fix }) => `${problem} ${fix}`) }
}

test('a model of pictures has its unit price, its tiers and its providers in order', () => {
  const { mediaModels, problems } = read(
    model(
      'providers: [{ provider: demo, model: late, priority: 2 }, { provider: demo, model: first }]',
      price('tiers: [{ size: 2x2, quality: high, unit_price_micro: 9 }]'),
    ).replace('providers: [{ provider: demo, model: image }], ', ''),
  )
  expect(problems).toEqual([])
  const [image] = mediaModels
  expect(image).toMatchObject({ type: 'image', imagesPerCallMax: 4, inputImagesMax: 0, timeoutMs: 900_000 })
  expect(image?.providers.map((route) => route.model)).toEqual(['first', 'late'])
  expect(image && mediaPriceInForce(image, NOW)).toMatchObject({
    unitMicro: 5n,
    tiers: [{ size: '2x2', quality: 'high', resolution: undefined, unitMicro: 9n }],
  })
  expect(image && mediaPriceInForce(image, new Date('2025-01-01T00:00:00Z'))).toBeUndefined()
})

test.each([
  ['an id of a chat model', model('').replace('demo-image', 'demo-chat'), /the id is used twice/],
  ['an id twice', model('') + model(''), /the id is used twice/],
  ['a provider that is not there', model('').replace('provider: demo', 'provider: demmo'), /Did you mean `demo`/],
  ['a demo under another name', model('').replace('id: demo-image', 'id: gpt-image'), /Begin the id with `demo`/],
  ['no price', model('', ''), /Unpriced model/],
  ['a price to come only', model('', price('').replace('2026-01', '2027-01')), /Unpriced model/],
  ['pictures by the second', model('', price('').replace('unit: image', 'unit: second')), /not sold by the second/],
  ['films by the image', model('').replace('type: image', 'type: video'), /not sold by the image/],
  ['versions out of order', model('', `${price('')}, ${price('')}`), /used twice/],
  ['a default above the longest film', model('default_seconds: 20'), /Lower it to 15/],
  ['a fraction of a microcredit', model('', price('').replace('micro: 5', 'micro: 0.5')), /whole number/],
])('%s is refused with what to do', (_what, models, problem) => {
  expect(read(models).problems.join('\n')).toMatch(problem)
})
