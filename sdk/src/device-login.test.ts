import { expect, test } from 'vitest'
import { type Reply, refusal, type SentRequest, scripted, signedIn } from './answers.fixture.ts'
import type { DeviceCode } from './device-login.ts'
import { memoryStore } from './session.ts'

const begun: Reply = {
  status: 200,
  body: {
    device_code: 'dvc_secret',
    user_code: 'BCDF-GHJK',
    verification_uri: 'http://server.test/console/device',
    verification_uri_complete: 'http://server.test/console/device?user_code=BCDF-GHJK',
    expires_in: 600,
    interval: 5,
  },
}
const undecided = (code: string, interval: number): Reply => ({ status: 400, body: { code, message: code, interval } })

/** A server that answers the questions after the first request in this order, the last answer for ever. */
function asking(...replies: Reply[]) {
  let next = 0
  return ({ path }: SentRequest): Reply =>
    path === '/v1/auth/device' ? begun : (replies[Math.min(next++, replies.length - 1)] ?? 'lost')
}

test('a login shows its code once, asks at the pace of the server over all trouble, and keeps the tokens', async () => {
  const tokens = memoryStore()
  const { farebox, sent, sleptMs } = scripted(
    asking(
      undecided('authorization_pending', 5),
      undecided('slow_down', 10),
      'lost',
      refusal(429, 'rate_limited', { 'retry-after': '20' }),
      undecided('authorization_pending', 10),
      signedIn(1),
    ),
    { tokens },
  )
  const codes: DeviceCode[] = []
  const { account } = await farebox.auth.signInByDevice({
    clientName: 'a test',
    onCode: (code) => void codes.push(code),
  })
  expect(account.id).toBe(1)
  expect(codes).toEqual([
    {
      userCode: 'BCDF-GHJK',
      verificationUri: 'http://server.test/console/device',
      verificationUriComplete: 'http://server.test/console/device?user_code=BCDF-GHJK',
      expiresAt: expect.any(Number),
    },
  ])
  expect(sleptMs).toEqual([5_000, 5_000, 10_000, 10_000, 20_000, 10_000])
  expect(sent.map(({ body }) => body)).toEqual([
    { client_name: 'a test' },
    ...Array.from({ length: 6 }, () => ({ device_code: 'dvc_secret' })),
  ])
  expect(await tokens.read()).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-1' })
})

test.each(['access_denied', 'expired_token'])(
  'a login that ends as %s says so and is asked for no more',
  async (code) => {
    const { farebox, sent } = scripted(asking(undecided('authorization_pending', 5), undecided(code, 5)))
    await expect(farebox.auth.signInByDevice({ onCode: () => undefined })).rejects.toMatchObject({ code, status: 400 })
    expect(sent).toHaveLength(3)
  },
)

test('a server that never answers again is given up when the code is over', async () => {
  const { farebox, sleptMs } = scripted(asking('lost'))
  await expect(farebox.auth.signInByDevice({ onCode: () => undefined })).rejects.toMatchObject({ code: 'no_answer' })
  expect(sleptMs.reduce((sum, ms) => sum + ms, 0)).toBe(605_000)
})

test('while a person decides, other calls of the client do not wait', async () => {
  let approve = (): void => undefined
  const approved = new Promise<void>((resolve) => {
    approve = resolve
  })
  const { farebox } = scripted(
    ({ path }) => (path === '/v1/auth/device' ? begun : path.includes('device') ? signedIn(2) : { status: 200 }),
    {
      sleep: () => approved,
      tokens: {
        read: async () => ({ accessToken: 'a', refreshToken: 'r', expiresAt: 0 }),
        write: async () => undefined,
      },
      wallet: { address: '0x1', signMessage: async () => '0x', signTypedData: async () => '0x' },
    },
  )
  const login = farebox.auth.signInByDevice({ onCode: () => undefined })
  await farebox.auth.signOut()
  approve()
  expect((await login).account.id).toBe(1)
})
