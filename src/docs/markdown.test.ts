import { expect, test } from 'vitest'
import { markdownToHtml } from './markdown.ts'

test('headings are linked to as code hosts do it', () => {
  expect(markdownToHtml('## What becomes of a payment?')).toContain('id="what-becomes-of-a-payment"')
  expect(markdownToHtml('### `farebox orders list`')).toContain('id="farebox-orders-list"')
})

test('what is wider than the page scrolls by itself and is reached by the keyboard', () => {
  expect(markdownToHtml('| a |\n|---|\n| `x \\| y` |')).toMatch(
    /^<div class="wide" tabindex="0"><table>[\s\S]*<code>x \| y</,
  )
  expect(markdownToHtml('```sh\necho "<b>"\n```')).toBe(
    '<pre tabindex="0"><code>echo &quot;&lt;b&gt;&quot;</code></pre>\n',
  )
})

test('notes for the tests of a document are not shown', () => {
  expect(markdownToHtml('<!-- run: a -->\n```\nb\n```')).not.toContain('run')
})
