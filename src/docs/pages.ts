import { catalogue, type ErrorCode, type Refusal } from '../kernel/errors.ts'
import type { Guide, Shelf } from './guides.ts'
import { escaped, markdownToHtml } from './markdown.ts'

/** The page of the API: Swagger UI from this server's own files. Addresses are relative, so a path in front does no harm. */
export function docsPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Farebox API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/pages.css">
</head>
<body>
${navigation('')}
<div id="api" role="region" aria-label="Operations"></div>
<noscript>This page needs JavaScript. The same as a document: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`
}

/** Every error, by status. */
export function errorsPage(): string {
  const rows = Object.entries<Refusal>(catalogue)
    .sort(([, a], [, b]) => a.status - b.status)
    .map(
      ([code, { status, phrase }]) =>
        `<tr><td>${status}</td><td><a href="errors/${code}"><code>${code}</code></a></td><td>${escaped(phrase)}</td></tr>`,
    )
  return page(
    '',
    'Errors',
    `<h1>Errors</h1>\n<div class="wide" tabindex="0"><table>\n${rows.join('\n')}\n</table></div>`,
  )
}

/** What one error means and what to do about it. */
export function errorPage(code: ErrorCode): string {
  const { status, phrase, type, message, fix }: Refusal = catalogue[code]
  return page(
    '../',
    phrase,
    `<h1>${escaped(phrase)}</h1>
<p><code>${code}</code> &middot; status ${status} &middot; <code>${type}</code></p>
<h2>What happened</h2>
<p>${escaped(message)}</p>
<h2>What to do</h2>
<p>${escaped(fix)}</p>
<p>The <code>message</code> of an answer is usually more exact than this page; its <code>request_id</code> leads the operator to the cause.</p>
<p><a href="../errors">All errors</a> &middot; this page as <a href="${code}.md">Markdown</a> or <a href="${code}.json">JSON</a></p>`,
  )
}

/** The same for who reads Markdown. */
export function errorMarkdown(code: ErrorCode): string {
  const { status, phrase, type, message, fix }: Refusal = catalogue[code]
  return `# ${phrase}\n\n\`${code}\` · status ${status} · \`${type}\`\n\n${message}\n\n**What to do:** ${fix}\n`
}

/** The same for programs. */
export function errorJson(code: ErrorCode): string {
  const { status, phrase, type, message, fix }: Refusal = catalogue[code]
  return JSON.stringify({ code, status, type, phrase, message, fix })
}

/** Every guide, by reader. */
export function guidesPage(shelves: readonly Shelf[]): string {
  const sections = shelves.map(
    ({ title, guides }) => `<h2>${escaped(title)}</h2>\n<dl>\n${guides.map(entry).join('\n')}\n</dl>`,
  )
  const programs = `<h2>Programs that read</h2>
<p><a href="../skill.md"><code>skill.md</code></a> is all that an Agent needs, on one page; <a href="../llms.txt"><code>llms.txt</code></a>
lists these guides as Markdown; <a href="../openapi.json"><code>openapi.json</code></a> describes every endpoint;
<a href="../.well-known/api-catalog"><code>api-catalog</code></a> finds all of it.</p>`
  return page('../', 'Guides', [`<h1>Guides</h1>`, ...sections, programs].join('\n'))
}

const entry = ({ name, title, about }: Guide): string =>
  `<dt><a href="${name}">${escaped(title)}</a></dt>\n<dd>${markdownToHtml(about).replaceAll(/<\/?p>/g, '')}</dd>`

/** A guide to read. Its text is as `served` gives it. */
export function guidePage({ name, title }: Guide, text: string): string {
  const twin = `<p class="twin"><a href="${name}.md">This page as Markdown</a></p>`
  return page('../', title, `${markdownToHtml(text)}\n${twin}`)
}

const navigation = (root: '' | '../'): string => `<header><nav aria-label="Documentation">
<a class="home" href="${root}docs/guides">Farebox</a>
<a href="${root}docs/guides">Guides</a>
<a href="${root}docs">API</a>
<a href="${root}errors">Errors</a>
<a href="${root}console">Console</a>
</nav></header>`

function page(root: '' | '../', title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - Farebox</title>
<link rel="icon" type="image/png" href="${root}docs/favicon-32x32.png">
<link rel="stylesheet" href="${root}docs/pages.css">
</head>
<body>
${navigation(root)}
<main class="guide">
${content}
</main>
</body>
</html>
`
}
