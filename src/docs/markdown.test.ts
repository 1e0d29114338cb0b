import { expect, test } from 'vitest'
import { markdownToHtml } from './markdown.ts'

test.each([
  ['# A *b*\n', '<h1 id="a-b">A *b*</h1>'],
  ['one\ntwo\n\nthree\n', '<p>one\ntwo</p>\n<p>three</p>'],
  ['a **b c** _d_ e_f_g', '<p>a <strong>b c</strong> <em>d</em> e_f_g</p>'],
  ['`**a** <b>` & "c"', '<p><code>**a** &lt;b&gt;</code> &amp; &quot;c&quot;</p>'],
  ['`` a`b ``', '<p><code> a`b </code></p>'],
  [
    '[`a` b](c.md#d) <https://e.f>',
    '<p><a href="c.md#d"><code>a</code> b</a> <a href="https://e.f">https://e.f</a></p>',
  ],
  ['![A page](pictures/a.png)', '<p><img src="pictures/a.png" alt="A page" loading="lazy"></p>'],
  ['- a\n  b\n- c\n\nd', '<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n<p>d</p>'],
  ['1. a\n\n2. b', '<ol>\n<li>a</li>\n<li>b</li>\n</ol>'],
  ['> a\n> b', '<blockquote><p>a\nb</p></blockquote>'],
  ['```sh\n# a <b>\n\n- c\n```\nd', '<pre tabindex="0"><code># a &lt;b&gt;\n\n- c</code></pre>\n<p>d</p>'],
  [
    '| a | b |\n|---|---|\n| `x \\| y` | |',
    '<div class="wide" tabindex="0"><table>\n<thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td><code>x | y</code></td><td></td></tr>\n</tbody></table></div>',
  ],
  ['<!-- run: a -->\n```\nb\n```', '<pre tabindex="0"><code>b</code></pre>'],
])('%j is written as HTML', (markdown, html) => {
  expect(markdownToHtml(markdown)).toBe(html)
})

test('headings are linked to as code hosts do it', () => {
  expect(markdownToHtml('## What becomes of a payment?')).toContain('id="what-becomes-of-a-payment"')
  expect(markdownToHtml('### `farebox orders list`')).toContain('id="farebox-orders-list"')
})
