/**
 * The HTML of a document of ours, without the page around it. It knows what our documents are written with: headings,
 * paragraphs, lists without lists inside, tables, quotes, fenced blocks, links, pictures, code, strong and emphasised
 * text. Comments are left out. Not for the text of strangers: addresses of links are taken as they are.
 */
export function markdownToHtml(markdown: string): string {
  const lines = markdown.replaceAll(/<!--[\s\S]*?-->\n*/g, '').split('\n')
  const html: string[] = []
  while (lines.length > 0) {
    const [line = ''] = lines
    const block = blocks.find(({ begins }) => begins.test(line)) ?? paragraph
    html.push(block.take(lines))
  }
  return html.filter((text) => text !== '').join('\n')
}

/** A sort of block: what its first line looks like, and how it is taken off the lines and written. */
interface Block {
  readonly begins: RegExp
  readonly take: (lines: string[]) => string
}

const blank: Block = {
  begins: /^\s*$/,
  take(lines) {
    lines.shift()
    return ''
  },
}

const fence: Block = {
  begins: /^```/,
  take(lines) {
    lines.shift()
    const code = whileLines(lines, (line) => !line.startsWith('```'))
    lines.shift()
    // reached by the keyboard, because it scrolls
    return `<pre tabindex="0"><code>${escaped(code.join('\n'))}</code></pre>`
  },
}

const heading: Block = {
  begins: /^#{1,4} /,
  take(lines) {
    const [, marks = '#', text = ''] = /^(#+) (.*)$/.exec(lines.shift() ?? '') ?? []
    return `<h${marks.length} id="${anchorOf(text)}">${inline(text)}</h${marks.length}>`
  },
}

const quote: Block = {
  begins: /^> /,
  take: (lines) =>
    `<blockquote><p>${inline(
      whileLines(lines, (line) => line.startsWith('>'))
        .map((line) => line.replace(/^> ?/, ''))
        .join('\n'),
    )}</p></blockquote>`,
}

const table: Block = {
  begins: /^\|/,
  take(lines) {
    const [head = [], , ...rows] = whileLines(lines, (line) => line.startsWith('|')).map(cellsOf)
    const row = (cells: readonly string[], tag: 'th' | 'td') =>
      `<tr>${cells.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join('')}</tr>`
    const body = rows.map((cells) => row(cells, 'td')).join('\n')
    const titles = head.some((cell) => cell !== '') ? `<thead>${row(head, 'th')}</thead>\n` : ''
    return `<div class="wide" tabindex="0"><table>\n${titles}<tbody>\n${body}\n</tbody></table></div>`
  },
}

const list: Block = {
  begins: /^(-|\d+\.) /,
  take(lines) {
    const tag = lines[0]?.startsWith('-') ? 'ul' : 'ol'
    const marker = tag === 'ul' ? /^- / : /^\d+\. /
    const items: string[] = []
    while (marker.test(lines[0] ?? '')) {
      const [first = '', ...more] = [lines.shift(), ...whileLines(lines, (line) => !startsBlock(line))]
      items.push(`<li>${inline([first.replace(marker, ''), ...more.map((line) => line.trimStart())].join('\n'))}</li>`)
      // a blank line between two items does not end the list
      if (lines[0] === '' && marker.test(lines[1] ?? '')) lines.shift()
    }
    return `<${tag}>\n${items.join('\n')}\n</${tag}>`
  },
}

const paragraph: Block = {
  begins: /^/,
  take(lines) {
    const first = lines.shift() ?? ''
    return `<p>${inline([first, ...whileLines(lines, (line) => !startsBlock(line))].join('\n'))}</p>`
  },
}

const blocks: readonly Block[] = [blank, fence, heading, quote, table, list]
const startsBlock = (line: string): boolean => blocks.some(({ begins }) => begins.test(line))

function whileLines(lines: string[], belongs: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !belongs(line))
  return lines.splice(0, end < 0 ? lines.length : end)
}

/** The cells of a row; `\|` is a bar inside of one. */
const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

/** The fragment by which a heading is linked to: as code hosts make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

/** Text with its marks. What is code is put aside first, so that nothing inside it counts as a mark. */
function inline(text: string): string {
  const codes: string[] = []
  const putAside = text.replaceAll(/(`+)(.+?)\1(?!`)/gs, (_all, _ticks, code: string) => {
    codes.push(`<code>${escaped(code)}</code>`)
    return `\uE000${codes.length - 1}\uE000`
  })
  return escaped(putAside)
    .replaceAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g, '<img src="$2" alt="$1" loading="lazy">')
    .replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replaceAll(/&lt;(https?:[^\s&]+)&gt;/g, '<a href="$1">$1</a>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/(?<![\p{L}\p{N}_])_([^_]+)_(?![\p{L}\p{N}_])/gu, '<em>$1</em>')
    .replaceAll(/\uE000(\d+)\uE000/g, (_all, index: string) => codes[Number(index)] ?? '')
}

/** Text as text, in content and in attributes. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
