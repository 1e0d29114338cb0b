import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** What is wrong with an OpenAPI document, one line each: references that lead nowhere, names used twice, schemas that are none. */
export function lint(document: unknown): string[] {
  const problems: string[] = []
  const operations = new Set<string>()
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  visit(document, '#', (node, place) => {
    if (typeof node.$ref === 'string' && resolve(document, node.$ref) === undefined)
      problems.push(`${place}: ${node.$ref} leads nowhere`)
    if (typeof node.operationId === 'string') {
      if (operations.has(node.operationId)) problems.push(`${place}: ${node.operationId} is the name of two operations`)
      operations.add(node.operationId)
    }
    const schemas = [
      ...(node.schema ? [node.schema] : []),
      ...(place === '#/components/schemas' ? Object.values(node) : []),
    ]
    for (const schema of schemas) {
      if (!ajv.validateSchema(schema as object)) problems.push(`${place}: no JSON Schema 2020-12: ${ajv.errorsText()}`)
    }
  })
  return [...problems, ...undeclaredParameters(document)]
}

function undeclaredParameters(document: unknown): string[] {
  const { paths } = document as {
    paths: Record<string, Record<string, { parameters?: Array<{ name: string; in: string }> }>>
  }
  return Object.entries(paths).flatMap(([path, methods]) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    return Object.entries(methods).flatMap(([method, { parameters = [] }]) => {
      const declared = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
      return String(declared.sort()) === String(names.sort())
        ? []
        : [`${method} ${path} declares the path parameters ${declared}`]
    })
  })
}

function visit(node: unknown, place: string, each: (node: Record<string, unknown>, place: string) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) each(node as Record<string, unknown>, place)
  for (const [name, member] of Object.entries(node)) visit(member, `${place}/${name}`, each)
}

function resolve(document: unknown, reference: string): unknown {
  let node = document
  for (const name of reference.replace(/^#\//, '').split('/')) {
    node = (node as Record<string, unknown> | undefined)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return node
}
