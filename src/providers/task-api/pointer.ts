/**
 * Follows a JSON pointer (RFC 6901), with two liberties that real services need: `*` goes through all members of a
 * list, and a text on the way that is JSON itself is read. undefined where nothing is.
 */
export function valueAt(value: unknown, pointer: string): unknown {
  const segments = pointer.split('/').slice(1)
  return follow(value, segments)
}

/** Whether text is a pointer: empty for the whole, else beginning with a slash. */
export const isPointer = (text: string): boolean => text === '' || text.startsWith('/')

function follow(value: unknown, [segment, ...rest]: readonly string[]): unknown {
  if (segment === undefined) return value
  const here = typeof value === 'string' ? parsed(value) : value
  if (typeof here !== 'object' || here === null) return undefined
  if (segment === '*') {
    return Array.isArray(here)
      ? here.map((entry) => follow(entry, rest)).filter((found) => found !== undefined)
      : undefined
  }
  const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
  return Object.hasOwn(here, name) ? follow((here as Record<string, unknown>)[name], rest) : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
