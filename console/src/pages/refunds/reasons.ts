/** Why a call cannot be refunded, by the API's `refund_reason_not`, as people say it. */
export const whyNot: Readonly<Record<string, string>> = {
  call_running: 'It is still running.',
  usage_unknown: 'Its cost is unknown, so nothing was charged yet. The operator ends it.',
  pending_settlement: 'It waits for its settlement, so nothing was charged yet.',
  call_successful: 'It was successful. Only failed calls can be refunded.',
  nothing_charged: 'Nothing was charged for it.',
  already_refunded: 'It was refunded.',
  not_original_account: 'Only the account that made it can ask.',
}

/** What a refund has come to. */
export const refundStates = {
  completed: { words: 'The Credits are back', tone: 'good' },
  review_required: { words: 'The operator decides', tone: 'warn' },
  rejected: { words: 'The operator did not agree', tone: 'bad' },
} as const
