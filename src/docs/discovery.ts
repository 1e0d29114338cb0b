import { readFile } from 'node:fs/promises'
import type { Route } from '../http/route.ts'
import { documentOf } from './documents.ts'
import { type Guide, type Shelf, served } from './guides.ts'
import { once, shown } from './reply.ts'

/** What programs are told about this server. */
export interface DiscoveryDeps {
  readonly publicUrl: () => string
  readonly shelves: () => Promise<readonly Shelf[]>
}

/** Where programs look first: `/llms.txt`, `/skill.md`, `/robots.txt` and `/.well-known/api-catalog` (RFC 9727). */
export function discoveryRoutes({ publicUrl, shelves }: DiscoveryDeps): Route[] {
  const plain = (text: string) => documentOf('text/plain; charset=utf-8', text)
  return [
    shown(
      '/llms.txt',
      'What is to be read here, for language models',
      'text/plain',
      once(async () => plain(llmsText(publicUrl(), await shelves()))),
    ),
    shown(
      '/skill.md',
      'How an Agent pays for its own calls, on one page',
      'text/markdown',
      once(async () => markdown(await readSkill(publicUrl(), guidesOf(await shelves())))),
    ),
    shown(
      '/robots.txt',
      'What crawlers keep away from',
      'text/plain',
      once(() => plain(ROBOTS)),
    ),
    shown(
      '/.well-known/api-catalog',
      'Where this API is described, as a set of links (RFC 9727)',
      'application/linkset+json',
      once(() => documentOf(LINKSET, JSON.stringify(apiCatalog(publicUrl())))),
    ),
  ]
}

/** A document for who reads Markdown. */
export const markdown = (text: string) => documentOf('text/markdown; charset=utf-8', text)

/** All guides of all shelves. */
export const guidesOf = (shelves: readonly Shelf[]): readonly Guide[] => shelves.flatMap(({ guides }) => guides)

/** A top-up is no safe read: crawlers that follow links must not ask for one. */
const ROBOTS = `User-agent: *
Disallow: /v1/payments/topup
`

async function readSkill(publicUrl: string, guides: readonly Guide[]): Promise<string> {
  const text = await readFile(new URL('../../docs/skill.md', import.meta.url), 'utf8')
  return served(text.replaceAll(/<!-- run: .*? -->\n/g, ''), {
    publicUrl,
    guides,
    address: (name) => `${publicUrl}/docs/${name}.md`,
  })
}

/** The convention of llmstxt.org: a title, a summary, and sections of links to Markdown. */
function llmsText(publicUrl: string, shelves: readonly Shelf[]): string {
  const sections = shelves.map(({ title, guides }) => {
    const links = guides.map(({ name, title, about }) => `- [${title}](${publicUrl}/docs/${name}.md): ${about}`)
    return `## ${title}\n\n${links.join('\n')}`
  })
  return `# Farebox

> AI models and services by the call, paid from prepaid Credits, at ${publicUrl}/v1. Chat, images and videos take OpenAI's
> requests. An Agent needs nothing but a wallet key: it signs in by a signature and buys its own Credits.

1 Credit is 1,000,000 microcredits; fields named \`*_micro\` count those. Refusals carry a \`code\`, which
${publicUrl}/errors/<code>.md explains.

## Start

- [Skill](${publicUrl}/skill.md): sign in, buy, call, read the balance and get refunds, on one page
- [OpenAPI](${publicUrl}/openapi.json): every endpoint, with its schemas and refusals

${sections.join('\n\n')}

## Optional

- [API catalogue](${publicUrl}/.well-known/api-catalog): where the API is described, as links
- [x402](${publicUrl}/.well-known/x402): what can be paid here by x402
`
}

const LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

function apiCatalog(publicUrl: string) {
  const link = (path: string, type: string) => ({ href: `${publicUrl}${path}`, type })
  return {
    linkset: [
      {
        anchor: `${publicUrl}/v1`,
        'service-desc': [link('/openapi.json', 'application/json')],
        'service-doc': [
          link('/docs', 'text/html'),
          link('/docs/guides', 'text/html'),
          link('/llms.txt', 'text/plain'),
          link('/skill.md', 'text/markdown'),
        ],
        'service-meta': [link('/.well-known/x402', 'application/json')],
        status: [link('/readyz', 'application/json')],
      },
      { anchor: `${publicUrl}/mcp`, 'service-doc': [link('/docs/mcp', 'text/html')] },
    ],
  }
}
