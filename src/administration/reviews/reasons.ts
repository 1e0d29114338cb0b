/** Why payments wait, in plain words for whoever decides. A reason that is not here is shown as its slug. */
const inWords: Readonly<Record<string, string>> = {
  // orders
  amount_mismatch: 'Another amount arrived than the order asked for.',
  payer_mismatch: 'The amount of the order arrived, but from another wallet than the one that was to pay.',
  not_direct: 'The tokens did not come by a plain transfer of the paying wallet: a contract moved them.',
  wrong_chain: 'The amount of the order arrived on another network than the order asked for.',
  old_recipient: 'It was paid to an address of ours that is not used any more.',
  late_transfer: 'It arrived too long after the order had expired.',
  tx_already_used: 'Another purchase has got its Credits for this transfer.',
  reorged_after_credit:
    'Credits were given for it, and then the chain replaced the block it was in: the payment is not there any more. What is left of the Credits is held.',
  // transfers without an order
  unmatched: 'It arrived, and no order asked for it.',
  // payments with the native coin
  unquoted: 'It was paid without a quote, and this server credits quotes only.',
  stale_quote: 'It was paid after its quote had expired, and no rate of that time is known.',
  not_plain: 'It is no plain transfer: what a contract passes on is not credited by itself.',
  amount_above_maximum: 'It is more than is credited by itself.',
  wrong_payer: 'It came from a wallet that is not a verified one of the account that claims it.',
  amount_below_minimum: 'It arrived, and is less than the smallest payment.',
  tx_already_claimed: 'Another purchase has got its Credits for this transaction.',
  // x402
  used_with_other_terms: 'Its authorization was spent, but for another amount or recipient than was agreed.',
  canceled_after_broadcast: 'The payer canceled the authorization after it had been sent.',
  credited_elsewhere: 'Another purchase has got its Credits for this transfer.',
  decided_by_operator: 'An operator had decided on its transfer before.',
  unsettled_for_a_day: 'It was sent a day ago, and the chain shows neither its end nor its payment.',
  reorganised_after_credit:
    'Credits were given for it, and then the chain replaced the block it was in. It ends by itself when the transfer is back.',
}

/** Why a payment waits, in a sentence. */
export const reasonInWords = (reason: string): string => inWords[reason] ?? reason.replaceAll('_', ' ')
