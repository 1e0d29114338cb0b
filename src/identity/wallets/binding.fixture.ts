import { type Answer, newWallet, type SignedInPerson, type TestServers } from '../../../test/servers.ts'

/** A signature of the right shape by nobody. */
export const WRONG = `0x${'11'.repeat(64)}1b`

/** The status and code of an answer. */
export const code = (answer: Answer) => [answer.status, answer.json.code]

/** The steps of a binding over HTTP, and people who are ready for them. */
export function bindingSteps(servers: TestServers) {
  const delegate = (owner: SignedInPerson, agentWallet: string) =>
    servers.send('POST', '/v1/me/wallet/delegation', {
      token: owner.accessToken,
      body: { agent_wallet_address: agentWallet },
    })
  const challenge = (agent: SignedInPerson, delegation: string, wallet: string) =>
    servers.send('POST', '/v1/me/owner-wallet/challenge', {
      token: agent.accessToken,
      body: { delegation_token: delegation, wallet_address: wallet },
    })
  const bind = (agent: SignedInPerson, delegation: string, challengeId: string, signature: string, at = 0) =>
    servers.send('POST', '/v1/me/owner-wallet/bind', {
      at,
      token: agent.accessToken,
      body: { delegation_token: delegation, challenge_id: challengeId, signature },
    })
  const walletsOf = async (owner: SignedInPerson) =>
    (await servers.send('GET', '/v1/me/wallets', { token: owner.accessToken })).json.data

  const pair = async (label: string | null = null) => {
    const agentWallet = newWallet()
    const [owner, agent] = [await servers.owner(), await servers.signIn(agentWallet)]
    await servers.database.sql('update accounts set label = $2 where id = $1', [owner.accountId, label])
    await servers.send('POST', '/v1/me/agents', {
      token: owner.accessToken,
      body: { agent_wallet_address: agentWallet.address },
    })
    return { owner, agent, agentWallet }
  }

  /** Everything that a bind needs, up to the signature. */
  async function ready(people?: Awaited<ReturnType<typeof pair>>, wallet = newWallet()) {
    const { owner, agent, agentWallet } = people ?? (await pair())
    const delegation = (await delegate(owner, agentWallet.address)).json.delegation_token as string
    const { json } = await challenge(agent, delegation, wallet.address)
    const signature = await wallet.signMessage({ message: json.message })
    return {
      owner,
      agent,
      agentWallet,
      wallet,
      delegation,
      id: json.challenge_id as string,
      message: json.message as string,
      signature,
    }
  }

  return { delegate, challenge, bind, walletsOf, pair, ready }
}
