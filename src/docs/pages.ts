import { catalogue, type ErrorCode, type Refusal } from '../kernel/errors.ts'

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
</head>
<body>
<div id="api"></div>
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
  return page('', 'Errors', `<table>\n${rows.join('\n')}\n</table>`)
}

/** What one error means and what to do about it. */
export function errorPage(code: ErrorCode): string {
  const { status, phrase, type, message, fix }: Refusal = catalogue[code]
  return page(
    '../',
    phrase,
    `<p><code>${code}</code> &middot; status ${status} &middot; <code>${type}</code></p>
<h2>What happened</h2>
<p>${escaped(message)}</p>
<h2>What to do</h2>
<p>${escaped(fix)}</p>
<p>The <code>message</code> of an answer is usually more exact than this page; its <code>request_id</code> leads the operator to the cause.</p>
<p><a href="../errors">All errors</a></p>`,
  )
}

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
<main>
<h1>${escaped(title)}</h1>
${content}
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
