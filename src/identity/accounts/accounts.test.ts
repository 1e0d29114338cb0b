import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { createServer } from '../../http/server.ts'
import { Fault } from '../../kernel/errors.ts'
import { systemRandom } from '../../kernel/random.ts'
import { accountRoutes } from './routes.ts'
import * as store from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

/** A server on which a token is an account's id. */
function server() {
  const authenticate = async (token: string) => {
    if (!/^\d+$/.test(token)) throw new Fault('unauthorized')
    return { accountId: BigInt(token), credential: { kind: 'session', id: 1n } } as const
  }
  return createServer({
    routes: accountRoutes({ db: database.db }),
    authenticator: { authenticate, recognise: authenticate },
    random: systemRandom,
    bodyLimit: 1000,
    trustedProxies: [],
    onAnswered: () => undefined,
    onFault: () => undefined,
  })
}

const me = (id: bigint) => server().inject({ url: '/v1/me', headers: { authorization: `Bearer ${id}` } })

test('an account reads itself: absent text is empty, the address is checksummed', async () => {
  const id = await database.db.transaction().execute((tx) =>
    store.insert(tx, {
      accountType: 'agent',
      walletAddress: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
      email: undefined,
      label: undefined,
    }),
  )
  const reply = await me(id)
  expect(reply.statusCode).toBe(200)
  expect(reply.json()).toEqual({
    account: {
      id: Number(id),
      account_type: 'agent',
      status: 'active',
      role: 'user',
      wallet_address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      email: '',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
    request_id: reply.headers['x-request-id'],
  })
})

test('an owned Agent reads who owns it and who pays; an owner without a wallet reads an empty address', async () => {
  const ids = await database.db.transaction().execute(async (tx) => {
    const ownerId = await store.insert(tx, {
      accountType: 'owner',
      walletAddress: undefined,
      email: 'a@b.example',
      label: undefined,
    })
    const agentId = await store.insert(tx, {
      accountType: 'agent',
      walletAddress: undefined,
      email: undefined,
      label: 'crawler',
    })
    await store.link(tx, { agentId, ownerId, billingMode: 'owner_only', budget: store.UNLIMITED })
    return { ownerId, agentId }
  })
  expect((await me(ids.agentId)).json().account).toMatchObject({
    label: 'crawler',
    owner_account_id: Number(ids.ownerId),
    billing_mode: 'owner_only',
  })
  const owner = (await me(ids.ownerId)).json().account
  expect(owner).toMatchObject({ wallet_address: '', email: 'a@b.example' })
  expect(owner).not.toHaveProperty('owner_account_id')
})

test('nobody reads an account without a credential', async () => {
  expect((await server().inject({ url: '/v1/me' })).statusCode).toBe(401)
})
