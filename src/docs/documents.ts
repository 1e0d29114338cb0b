import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** Something to read, with the tag by which a reader asks whether it changed. */
export interface Document {
  readonly contentType: string
  readonly content: string | Buffer
  readonly etag: string
}

/** A document of this content. */
export function documentOf(contentType: string, content: string | Buffer): Document {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  return { contentType, content, etag: `"${hash}"` }
}

const types = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
} as const

const swaggerUi = (file: string): URL => new URL(import.meta.resolve(`swagger-ui-dist/${file}`))
const ours = (file: string): URL => new URL(`assets/${file}`, import.meta.url)

/** Every file that pages may load, by the name below /docs/. A name that is not here is never looked up on disk. */
const assets: Readonly<Record<string, { readonly url: () => URL; readonly type: keyof typeof types }>> = {
  'swagger-ui.css': { url: () => swaggerUi('swagger-ui.css'), type: 'css' },
  'swagger-ui-bundle.js': { url: () => swaggerUi('swagger-ui-bundle.js'), type: 'js' },
  'favicon-32x32.png': { url: () => swaggerUi('favicon-32x32.png'), type: 'png' },
  'start.js': { url: () => ours('start.js'), type: 'js' },
  'pages.css': { url: () => ours('pages.css'), type: 'css' },
}

const read = new Map<string, Promise<Document>>()

/** A file of the pages, read once; undefined when there is none of that name. */
export async function readAsset(name: string): Promise<Document | undefined> {
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  if (!asset) return undefined
  const known = read.get(name)
  if (known) return known
  const reading = readFile(asset.url()).then((content) => documentOf(types[asset.type], content))
  read.set(name, reading)
  reading.catch(() => read.delete(name))
  return reading
}

/** A picture of the guides by the name of its file; undefined when there is none of that name. */
export async function readPicture(name: string): Promise<Document | undefined> {
  if (!/^[a-z0-9-]+\.png$/.test(name)) return undefined
  try {
    return documentOf(types.png, await readFile(new URL(`../../docs/pictures/${name}`, import.meta.url)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
