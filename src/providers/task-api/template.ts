import { isPointer, valueAt } from './pointer.ts'

/** What a template may name: `{{model}}`, `{{input}}`, `{{input.prompt}}`. */
export type Values = Readonly<Record<string, unknown>>

const HOLE = /\{\{([a-z_]+)(?:\.([^{}]{1,200}))?\}\}/g

/**
 * Fills the holes of a JSON template. A text that is nothing but a hole becomes the value itself, and is left out with
 * its key when there is none; a hole inside a text becomes text; the key `...` takes over the members of an object.
 */
export function filledJson(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    const whole = new RegExp(`^${HOLE.source}$`).exec(template)
    return whole ? valueIn(whole[1] ?? '', whole[2], values) : filledText(template, values)
  }
  if (Array.isArray(template)) {
    return template.map((entry) => filledJson(entry, values)).filter((entry) => entry !== undefined)
  }
  if (typeof template !== 'object' || template === null) return template
  const filled: Record<string, unknown> = {}
  for (const [key, entry] of Object.entries(template)) {
    const value = filledJson(entry, values)
    if (key === '...') Object.assign(filled, value)
    else if (value !== undefined) filled[key] = value
  }
  return filled
}

/** Fills the holes of a text; `encode` makes each value fit for its place. */
export function filledText(
  template: string,
  values: Values,
  encode: (value: string) => string = (value) => value,
): string {
  return template.replace(HOLE, (_hole, name: string, member: string | undefined) => {
    const value = valueIn(name, member, values)
    return encode(
      value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value),
    )
  })
}

/**
 * Fills the holes of a path. Values keep their slashes, since names of models have them, and nothing else that counts in
 * a URL. A query parameter that gets no value is left out.
 */
export function filledPath(template: string, values: Values): string {
  const filled = filledText(template, values, (value) =>
    encodeURIComponent(value)
      .replaceAll('%2F', '/')
      .replace(/(^|\/)\.{1,2}(?=\/|$)/g, '$1%2E'),
  )
  const [path = '', query = ''] = filled.split(/\?(.*)/s)
  const parameters = query.split('&').filter((parameter) => !/^([^=]*=)?$/.test(parameter))
  return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`
}

function valueIn(name: string, member: string | undefined, values: Values): unknown {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  if (member === undefined) return value
  return valueAt(value, isPointer(member) ? member : `/${member}`)
}
