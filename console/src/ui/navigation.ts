/** A page as the navigation shows it. `count`: the query whose number stands beside it. */
export interface NavigationItem {
  readonly to: string
  readonly label: string
}

/** What the navigation shows, by who looks. */
export const navigation: ReadonlyArray<{
  readonly title: string
  readonly for: 'everyone' | 'owners' | 'admins'
  readonly items: readonly NavigationItem[]
}> = [
  { title: 'Overview', for: 'everyone', items: [{ to: '/console', label: 'Home' }] },
  {
    title: 'Credits',
    for: 'everyone',
    items: [
      { to: '/topup', label: 'Buy Credits' },
      { to: '/console/orders', label: 'Orders' },
    ],
  },
  { title: 'Access', for: 'everyone', items: [{ to: '/console/keys', label: 'API keys' }] },
]
