import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSetting, type Setting } from '../../test/payment-setting.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let setting: Setting
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  setting = await openSetting()
  terminal = openTerminal({ DATABASE_URL: setting.database.url })
  configure(setting.chain.rpcUrl)
})
afterAll(async () => {
  terminal.close()
  await setting.stop()
})

/** The least that a server needs, with the development asset on this node. */
const configure = (rpcUrl: string) =>
  writeFileSync(
    join(terminal.folder, 'farebox.yaml'),
    `
allow_demo: true
providers: { demo: { kind: demo } }
models:
  - id: demo-chat
    name: Demo
    context_length: 32768
    max_output_tokens: 4096
    default_output_tokens: 1024
    minimum_output_tokens: 16
    providers: [{ provider: demo, model: chat }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 150000, output_micro_per_m: 600000 }]
payments: { assets: { dev_usdc: { recipient: "${setting.chain.recipient}", rpc_urls: ["${rpcUrl}"] } } }
`,
  )

const chain = (...args: string[]) =>
  terminal.run(['chain', ...args], {
    environment: { FAREBOX_CONFIG: join(terminal.folder, 'farebox.yaml'), NODE_ENV: 'production', HOST: '127.0.0.1' },
  })

test('a chain that was never read is said to be none, and what names no chain is refused', async () => {
  expect((await chain('list')).out).toBe('No chain was read yet: a running server reads those of its assets.\n')
  expect(await chain('show', '31337')).toMatchObject({ exitCode: 1, err: expect.stringMatching(/never read/) })
  expect(await chain('show', 'base')).toMatchObject({ exitCode: 2, err: expect.stringMatching(/farebox chain list/) })
  expect(await chain('rewind', '31337', '--to', '0', '--reason', 'x')).toMatchObject({ exitCode: 5 })
})

test('list and show say how far a chain was read; a stopped one says why, and what to run', async () => {
  const round = setting.rounds()
  await round.once()
  const { id, amount } = await setting.order()
  await setting.chain.pay({ from: setting.payer, amount })
  await setting.chain.mine(2)
  await round.once()
  const height = await setting.chain.height()
  expect(masked((await chain('list')).out.replace(/\d+ s$/m, '<age>'), { height })).toMatchInlineSnapshot(`
    "CHAIN  NETWORK  STATE  READ TO  HEAD  AGE
    31337  Farebox development chain  nobody reads it  <height>  <height>  <age>"
  `)
  await setting.database.sql(`update chain_cursors set stopped = 'it was reorganised', stopped_at = now()`)
  expect((await chain('list')).out).toContain('STOPPED')
  const shown = (await chain('show', '31337')).out
  expect(shown).toMatch(/trouble +it was reorganised/)
  expect(shown).toMatch(/TRANSFERS +COUNT +HIGHEST BLOCK\ncredited +1/)
  expect(shown).toContain('farebox chain rewind 31337 --to <block> --reason <text>')
  expect((await chain('show', '31337', '--json')).json()).toMatchObject({
    chain: { chain_id: 31337, state: 'STOPPED', block: Number(height) },
    transfers: [{ state: 'credited', transfers: 1 }],
  })
  expect(id).toBeTruthy()
})

test('rewind needs a block and a reason, asks the nodes of the configuration, and lets the chain be read again', async () => {
  const height = await setting.chain.height()
  expect((await chain('rewind', '31337', '--to', String(height))).exitCode).toBe(2)
  expect((await chain('rewind', '31337', '--reason', 'x')).exitCode).toBe(2)
  expect((await chain('rewind', '31337', '--to', '-1', '--reason', 'x')).exitCode).toBe(2)
  expect(await chain('rewind', '8453', '--to', '1', '--reason', 'x')).toMatchObject({
    exitCode: 1,
    err: expect.stringMatching(/No asset in the configuration is on chain 8453/),
  })
  const refused = await chain('rewind', '31337', '--to', String(height + 1n), '--reason', 'x')
  expect(refused).toMatchObject({ exitCode: 5, err: expect.stringMatching(/skip payments/) })
  const ran = await chain('rewind', '31337', '--to', '3', '--reason', 'compared with an explorer')
  expect(ran).toMatchObject({ exitCode: 0, err: '' })
  expect(ran.out).toBe(
    `Chain 31337 went back from block ${height} to 3; 1 transfer above it is looked for again.\nA running server reads on by itself. Next: farebox review list\n`,
  )
  const round = setting.rounds()
  await round.once()
  expect(round.status()).toMatchObject({ healthy: true, stopped: false })
  expect((await chain('list')).out).not.toContain('STOPPED')
  expect(await setting.database.sql('select status, review_resolution from orders')).toEqual([
    { status: 'completed', review_resolution: 'restored' },
  ])
  const [entry] = await setting.database.sql('select action, reason from audit_log')
  expect(entry).toEqual({ action: 'rewind.chain', reason: 'compared with an explorer' })
})

test('a node that does not answer changes nothing', async () => {
  await setting.chain.rpc('anvil_mine', '0x1')
  configure('http://127.0.0.1:9')
  expect(await chain('rewind', '31337', '--to', '1', '--reason', 'x')).toMatchObject({
    exitCode: 1,
    err: expect.stringMatching(/cannot be reached.*Nothing was changed/),
  })
})
