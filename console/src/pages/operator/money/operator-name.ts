/** An operator as people call them: the records write `account:7` and `operator:ada`. */
export function operatorName(by: string): string {
  const [kind, ...name] = by.split(':')
  if (kind === 'account') return `account ${name.join(':')}`
  return kind === 'operator' ? `${name.join(':')} at the terminal` : by
}
