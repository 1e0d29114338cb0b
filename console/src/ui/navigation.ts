/** A page as the navigation shows it. */
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
  {
    title: 'Overview',
    for: 'everyone',
    items: [
      { to: '/console', label: 'Home' },
      { to: '/console/usage', label: 'Usage' },
      { to: '/console/requests', label: 'Requests' },
      { to: '/console/images', label: 'Images' },
      { to: '/console/capabilities', label: 'Capabilities' },
    ],
  },
  {
    title: 'Credits',
    for: 'everyone',
    items: [
      { to: '/topup', label: 'Buy Credits' },
      { to: '/console/orders', label: 'Orders' },
      { to: '/console/payments', label: 'x402 payments' },
      { to: '/console/settlements', label: 'Settlements' },
      { to: '/console/refunds', label: 'Refunds' },
      { to: '/console/statement', label: 'Statement' },
    ],
  },
  {
    title: 'Yours',
    for: 'owners',
    items: [
      { to: '/console/agents', label: 'Agents' },
      { to: '/console/wallets', label: 'Wallets' },
    ],
  },
  {
    title: 'Access',
    for: 'everyone',
    items: [
      { to: '/console/keys', label: 'API keys' },
      { to: '/console/webhooks', label: 'Webhooks' },
      { to: '/console/sessions', label: 'Sessions' },
      { to: '/console/account', label: 'Account' },
    ],
  },
  {
    title: 'Operator',
    for: 'admins',
    items: [
      { to: '/console/operator', label: 'Operator overview' },
      { to: '/console/operator/reviews', label: 'Payments in review' },
      { to: '/console/operator/holds', label: 'Holds' },
      { to: '/console/operator/prices', label: 'Prices' },
      { to: '/console/operator/accounts', label: 'Accounts' },
      { to: '/console/operator/refunds', label: 'Refunds in review' },
      { to: '/console/operator/invitations', label: 'Invitations' },
      { to: '/console/operator/audit-log', label: 'Audit log' },
    ],
  },
]
