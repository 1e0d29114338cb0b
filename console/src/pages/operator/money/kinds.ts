/** What sorts of payments wait for a decision. */
export const kinds = {
  order: { one: 'Order', plural: 'Orders' },
  transfer: { one: 'No order', plural: 'Transfers without an order' },
  native: { one: 'Native token', plural: 'Native payments' },
  x402: { one: 'x402', plural: 'x402 payments' },
} as const
