const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const
// the first that fits: the later ones are in the names of the earlier ones, too
const browsers = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/(Headless)?Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const

/** What a User-Agent says to people: `Chrome on Linux`; programs say themselves who they are. */
export function deviceName(userAgent: string): string {
  const named = (list: ReadonlyArray<readonly [RegExp, string]>) =>
    list.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = named(browsers)
  if (!browser) return userAgent || 'Unknown'
  const system = named(systems)
  return system ? `${browser} on ${system}` : browser
}
