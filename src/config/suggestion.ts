/** The known word that `word` was probably meant to be; undefined when none is close. Letter case is ignored. */
export function closestWord(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  // Two letters or a third of them may differ; of a very short word only one, or everything would be close.
  let bestDistance = (word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3))) + 1
  for (const candidate of known) {
    const begun = word.length >= 3 && candidate.toLowerCase().startsWith(word.toLowerCase())
    const distance = begun ? 1 : editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** What to do about an unknown name: "Did you mean `x`?", or the list of the names that exist here. */
export function suggestion(word: string, known: readonly string[]): string {
  const closest = closestWord(word, known)
  if (closest !== undefined) return `Did you mean \`${closest}\`?`
  if (known.length === 0) return 'Remove it.'
  return `Known here: ${known.map((name) => `\`${name}\``).join(', ')}.`
}

/** Insertions, deletions and replacements between two words (Levenshtein), one row of the table at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
