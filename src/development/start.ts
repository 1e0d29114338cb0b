import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { serve } from '../app/serve.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { loadConfig } from '../config/config.ts'
import { openDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { type DevelopmentChain, startDevelopmentChain } from '../embedded/anvil-chain.ts'
import { type RunningPostgres, startPostgres } from '../embedded/postgres.ts'
import { inCredits } from '../kernel/money.ts'
import type { Random } from '../kernel/random.ts'
import { type People, readDevelopmentFile, seedEconomy, writeDevelopmentFile } from './economy.ts'
import { forgetLostChain } from './lost-chain.ts'
import { developmentCoin } from './native-token.ts'
import { buyOpeningCredits } from './opening-order.ts'
import { type RunningIdentity, startIdentity } from './owner-identity.ts'
import { developmentTopUps, topUpEntries } from './x402.ts'

/** Database and role of the embedded server. */
const NAME = 'farebox'
const PEPPER_BYTES = 32

/** `npm start`: the whole economy on one machine, by one command. Returns when it was stopped. */
export async function startDevelopment(around: ProgramSurroundings): Promise<void> {
  const { config, secrets } = loadConfig({
    environment: around.environment,
    readFile: around.readFile,
    now: around.clock.now(),
    mode: 'development',
  })
  const step = stepPrinter(around)
  const folder = resolve(config.dataFolder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const pepper = secrets.keyPepper ?? (await keptPepper(folder, around.random))

  let postgres: RunningPostgres | undefined
  let identity: RunningIdentity | undefined
  let chain: DevelopmentChain | undefined
  try {
    let databaseUrl = secrets.databaseUrl
    if (databaseUrl === undefined) {
      postgres = await startPostgres({
        dataFolder: join(folder, 'postgres'),
        log: () => undefined,
        environment: around.environment,
      })
      databaseUrl = await ownDatabase(postgres)
      step('database', `PostgreSQL in ${join(config.dataFolder, 'postgres')} (unix socket only)`)
    } else step('database', 'PostgreSQL of DATABASE_URL')

    const migrated = await migrate(databaseUrl)
    step('migrations', migrated.applied.length > 0 ? `${migrated.applied.length} applied` : 'up to date')

    const earlier = await readDevelopmentFile(folder)
    const { db, pool } = openDatabase({
      url: databaseUrl,
      connections: 2,
      statementTimeoutMs: 10_000,
      onIdleError: () => undefined,
    })
    const people = await seedEconomy({ db, random: around.random, clock: around.clock, pepper }, earlier).finally(() =>
      pool.end(),
    )
    step(
      'economy',
      people.created
        ? `owner #${people.owner.account_id} and its linked Agent #${people.agent.account_id}, each with a wallet and a key`
        : `owner #${people.owner.account_id} and Agent #${people.agent.account_id} as you left them`,
    )

    chain = await startDevelopmentChain({
      dataFolder: folder,
      clock: around.clock,
      log: () => undefined,
      environment: around.environment,
    })
    await takeUp(chain, databaseUrl, around, step)

    identity = await startIdentity(around, { config, secrets, databaseUrl, owner: people.owner })
    step('sign-in', `an identity provider at ${identity.oidc.issuer} (one click, no passwords)`)

    const logLevel = around.environment.LOG_LEVEL ? config.logLevel : 'warn'
    const settings = withChain(identity.settings, chain)
    const serving = await serve(around, { ...settings, databaseUrl, pepper, logLevel })
    step('serving', serving.address)
    const baseUrl = config.publicUrl ?? serving.address
    const { owner, agent, said } = await openingCredits(serving.address, chain, people)
    await writeDevelopmentFile(folder, {
      base_url: baseUrl,
      database_url: databaseUrl,
      ...onChain(chain, baseUrl),
      oidc: identity.oidc,
      owner,
      agent,
    })
    step('Credits', said)
    around.write(welcome(baseUrl, config.dataFolder, people))
    await serving.ended
    around.write('Stopped. Everything is kept in the data folder; npm start goes on from here.\n')
  } finally {
    await identity?.stop()
    await chain?.stop()
    await postgres?.stop()
  }
}

/** Says what chain it is. One whose file was lost begins anew; what was bought on the former one stays. */
async function takeUp(
  chain: DevelopmentChain,
  databaseUrl: string,
  { clock }: ProgramSurroundings,
  step: (name: string, text: string) => void,
): Promise<void> {
  step('chain', `anvil ${chain.chainId} at ${chain.rpcUrl} with a stablecoin of its own`)
  if (!chain.isNew) return
  const lost = await forgetLostChain(databaseUrl, clock, chain)
  if (lost !== undefined) step('chain', `the former one is gone; the Credits of ${lost} purchases on it stay`)
}

const OWNER_TOKENS = 1_000_000_000n
const AGENT_TOKENS = 100_000_000n

/** Buys each of the two its first Credits by an order; the tokens of their sessions move on by it. */
async function openingCredits(
  baseUrl: string,
  chain: DevelopmentChain,
  { owner, agent }: People,
): Promise<Pick<People, 'owner' | 'agent'> & { said: string }> {
  const buyer = (person: People['owner'] | People['agent'], amountMicro: bigint) => ({
    walletAddress: person.wallet_address,
    refreshToken: person.refresh_token,
    amountMicro,
  })
  const [owners, agents] = await Promise.all([
    buyOpeningCredits(baseUrl, chain, buyer(owner, OWNER_TOKENS)),
    buyOpeningCredits(baseUrl, chain, buyer(agent, AGENT_TOKENS)),
  ])
  return {
    owner: { ...owner, refresh_token: owners.refreshToken },
    agent: { ...agent, refresh_token: agents.refreshToken },
    said: `bought on chain${agents.before ? ' by the first start' : ''}: ${inCredits(owners.creditMicro)} for the owner, ${inCredits(agents.creditMicro)} for the Agent (order ${agents.orderId}, ${agents.txHash.slice(0, 10)}…)`,
  }
}

/** What dev.json says about the chain. */
const onChain = (chain: DevelopmentChain, baseUrl: string) => ({
  chain: {
    rpc_url: chain.rpcUrl,
    chain_id: chain.chainId,
    asset_id: chain.assetId,
    token_address: chain.tokenAddress,
    recipient_address: chain.recipientAddress,
  },
  axon: { chain_id: chain.chainId, pay_to_address: chain.recipientAddress },
  x402: topUpEntries(chain, baseUrl),
  payers: chain.payers.map(({ address, privateKey }) => ({ address, private_key: privateKey })),
})

/** The settings with the development chain's stablecoin among the assets, and with its own coin. */
function withChain(
  { config, secrets }: RunningIdentity['settings'],
  chain: DevelopmentChain,
): RunningIdentity['settings'] {
  const asset = {
    recipient: chain.recipientAddress,
    retiredRecipients: [],
    enabled: true,
    confirmations: {},
  }
  return {
    config: {
      ...config,
      payments: {
        ...config.payments,
        assets: { ...config.payments.assets, [chain.assetId]: asset },
        axon: developmentCoin(chain),
        x402: config.payments.x402 ?? developmentTopUps(chain),
      },
    },
    secrets: {
      ...secrets,
      rpcUrls: { ...secrets.rpcUrls, [chain.assetId]: [chain.rpcUrl] },
      axon: { rpcUrls: [chain.rpcUrl], rateUrls: [] },
      relayerKey: secrets.relayerKey ?? chain.relayer.privateKey,
    },
  }
}

/** Creates role and database at the first start; gives the address of the database. */
async function ownDatabase(postgres: RunningPostgres): Promise<string> {
  const admin = new pg.Client({ connectionString: postgres.url('postgres', postgres.superuser) })
  await admin.connect()
  try {
    const role = await admin.query('select from pg_roles where rolname = $1', [NAME])
    if (role.rowCount === 0) await admin.query(`create role ${NAME} login createrole`)
    const database = await admin.query('select from pg_database where datname = $1', [NAME])
    if (database.rowCount === 0) await admin.query(`create database ${NAME} owner ${NAME}`)
  } finally {
    await admin.end()
  }
  return postgres.url(NAME, NAME)
}

/** The pepper of API keys: made at the first start and kept beside the data, since keys are worthless without it. */
async function keptPepper(folder: string, random: Random): Promise<Buffer> {
  const path = join(folder, 'key-pepper')
  try {
    const kept = Buffer.from((await readFile(path, 'utf8')).trim(), 'hex')
    if (kept.length === PEPPER_BYTES) return kept
  } catch {
    // the first start
  }
  const pepper = random.bytes(PEPPER_BYTES)
  await writeFile(path, `${pepper.toString('hex')}\n`, { mode: 0o600 })
  await chmod(path, 0o600)
  return pepper
}

function stepPrinter(around: ProgramSurroundings): (what: string, how: string) => void {
  let lastMs = around.clock.monotonicMs()
  return (what, how) => {
    const now = around.clock.monotonicMs()
    around.write(`✔ ${what.padEnd(12)} ${how}  (${((now - lastMs) / 1000).toFixed(1)} s)\n`)
    lastMs = now
  }
}

function welcome(baseUrl: string, dataFolder: string, { owner, agent }: People): string {
  return `
  API      ${baseUrl}/v1
  Docs     ${baseUrl}/docs
  Console  ${baseUrl}/console
  Metrics  ${baseUrl}/metrics
  Keys     ${join(dataFolder, 'dev.json')} has the owner's and the Agent's keys and wallets (development only)

  Your first call, as Agent #${agent.account_id} of owner #${owner.account_id}:

    curl -s ${baseUrl}/v1/chat/completions \\
      -H 'authorization: Bearer ${agent.api_key}' \\
      -H 'content-type: application/json' \\
      -d '{"model":"demo-chat","messages":[{"role":"user","content":"hello"}]}'

  Ctrl-C stops it.
`
}
