import { type Answer, newWallet, type SignedInPerson, type TestServers } from '../../../test/servers.ts'

/** The status and code of an answer. */
export const code = (answer: Answer) => [answer.status, answer.json.code]

/** What owners do with Agents over HTTP, and a pair of them. */
export function linkSteps(servers: TestServers) {
  const link = (owner: SignedInPerson, address: string, more: Record<string, unknown> = {}) =>
    servers.send('POST', '/v1/me/agents', {
      token: owner.accessToken,
      body: { agent_wallet_address: address, ...more },
    })
  const change = (owner: SignedInPerson, id: number | bigint, body: unknown) =>
    servers.send('PATCH', `/v1/me/agents/${id}`, { token: owner.accessToken, body })
  const unlink = (owner: SignedInPerson, id: number | bigint) =>
    servers.send('DELETE', `/v1/me/agents/${id}`, { token: owner.accessToken })
  const agentsOf = async (owner: SignedInPerson, query = '') =>
    (await servers.send('GET', `/v1/me/agents${query}`, { token: owner.accessToken })).json

  const pair = async (more: Record<string, unknown> = {}) => {
    const wallet = newWallet()
    const [owner, agent] = [await servers.owner(), await servers.signIn(wallet)]
    const linked = await link(owner, wallet.address, more)
    if (linked.status !== 200) throw new Error(`no link: ${JSON.stringify(linked.json)}`)
    return { owner, agent, wallet }
  }
  return { link, change, unlink, agentsOf, pair }
}
