import { Marked, type RendererObject } from 'marked'

/** The fragment by which a heading is linked to: as code hosts make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

/** Headings can be linked to, and what scrolls by itself is reached by the keyboard. */
const renderer: RendererObject = {
  heading({ tokens, depth, text }) {
    return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
  },
  code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
}

const marked = new Marked({ gfm: true, async: false, renderer })

/** The HTML of a document of ours, without the page around it. Not for the text of strangers: HTML in it stays HTML. */
export function markdownToHtml(markdown: string): string {
  const html = marked.parse(markdown.replaceAll(/<!--[\s\S]*?-->\n*/g, '')) as string
  return html
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<img ', '<img loading="lazy" ')
}

/** Text as text, in content and in attributes. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
