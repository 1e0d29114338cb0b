import { readFile } from 'node:fs/promises'

/** A fenced block of a document. */
export interface Snippet {
  readonly language: string
  /** The text of the comment above it, `<!-- run: name -->`, if there is one. */
  readonly name: string | undefined
  readonly text: string
}

/** All fenced blocks of a Markdown file, in order. */
export async function snippetsOf(path: URL): Promise<Snippet[]> {
  const text = await readFile(path, 'utf8')
  const blocks = text.matchAll(/(?:<!-- run: ([\w -]+) -->\n)?```(\w*)\n([\s\S]*?)```/g)
  return [...blocks].map(([, name, language = '', body = '']) => ({ name, language, text: body }))
}

/** The block with this name; throws when the document has none. */
export function named(snippets: readonly Snippet[], name: string): string {
  const found = snippets.find((snippet) => snippet.name === name)
  if (!found) throw new Error(`no snippet is named ${name}`)
  return found.text
}
