import { readFile } from 'node:fs/promises'

/** A document for the users of a server, which the server shows them. */
export interface Guide {
  /** Its address is /docs/<name>. */
  readonly name: string
  /** Where it is kept, from the project's folder. */
  readonly path: string
  readonly title: string
  /** What it is for, in half a sentence. */
  readonly about: string
  /** Its Markdown as it is kept. */
  readonly text: string
}

/** Guides for one sort of reader. */
export interface Shelf {
  readonly title: string
  readonly guides: readonly Guide[]
}

/** What is shown, and to whom. What only operators need (commands, settings, accounting) is in their checkout, not here. */
const shelves: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Agents: {
    'first-five-minutes-agent': 'from a wallet key to a first call, by command line, curl and SDK',
    'agent-sign-in': 'sign in with nothing but a wallet',
    x402: 'buy Credits with one signed request, without gas and without an account',
    'command-line': 'the `farebox` program for users: login, chat, image, topup and the rest',
    sdk: 'the client for Node, Bun, Deno and workers',
    mcp: 'operations, balance and top-up as tools of the Model Context Protocol',
  },
  Owners: {
    'first-five-minutes-owner': 'buy Credits in the browser, link an Agent, set its budget',
    'owner-sign-in': 'how people sign in, and what invitations do',
    'agents-and-wallets': 'pay for Agents, within budgets, and stop at any moment',
    'wallet-orders': 'buy Credits with one stablecoin transfer',
    'native-token': 'buy Credits with a chain’s own coin',
    statement: 'balance, every movement, and usage',
    'settlements-and-refunds': 'calls whose money was not simple: unknown cost, shortfalls, refunds, expiry',
  },
  'Every program': {
    media: 'images, videos and tasks',
    results: 'pictures and films that were made: where, and how long',
    capabilities: 'named operations with a price',
    webhooks: 'signed events instead of asking',
    limits: 'how many requests are answered, and what is logged of changes',
    errors: 'every refusal, with its cause and what to do',
  },
}

const pathOf = (name: string): string => (name === 'sdk' ? 'sdk/README.md' : `docs/${name}.md`)

/** Reads all guides from the files that come with the program. */
export function readShelves(): Promise<Shelf[]> {
  return Promise.all(
    Object.entries(shelves).map(async ([title, names]) => ({
      title,
      guides: await Promise.all(Object.entries(names).map(([name, about]) => readGuide(name, about))),
    })),
  )
}

async function readGuide(name: string, about: string): Promise<Guide> {
  const path = pathOf(name)
  const text = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
  const [, title = name] = /^# (.+)$/m.exec(text) ?? []
  return { name, path, title, about, text }
}

/** The address at which documents say a server is; a server says its own instead. */
const DOCUMENTED_ADDRESS = 'http://127.0.0.1:8787'

/** A section of a document that its server's users do not need, up to the next one of its rank. */
const FOR_THE_OPERATOR = /^## For the operator.*\n(?:(?!## ).*\n)*/gm

/** A document as this server gives it: with its own address, without what is for operators, and with links to what it shows only. */
export function served(
  text: string,
  { publicUrl, guides, address }: { publicUrl: string; guides: readonly Guide[]; address: (name: string) => string },
): string {
  const names = new Set(guides.map(({ name }) => name))
  const linked = text
    .replaceAll(FOR_THE_OPERATOR, '')
    .replaceAll(
      /^```[\s\S]*?^```|(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)/gm,
      (all: string, picture: string | undefined, label: string | undefined, target: string | undefined) => {
        if (label === undefined || target === undefined || picture === '!' || /^(https?:|#)/.test(target)) return all
        const [, name = '', fragment = ''] = /([\w-]+)\.md(#.*)?$/.exec(target.replace('sdk/README.md', 'sdk.md')) ?? []
        return names.has(name) ? `[${label}](${address(name)}${fragment})` : label
      },
    )
  return linked.replaceAll(DOCUMENTED_ADDRESS, publicUrl)
}
