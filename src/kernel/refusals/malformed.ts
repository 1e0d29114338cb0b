import { malformed, type Refusal } from './refusal.ts'

/** 400: the request itself is wrong. */
export const malformedRequests = {
  invalid_json: malformed(
    'Invalid JSON',
    'The body is not valid JSON.',
    'Send a JSON object with content-type application/json.',
  ),
  invalid_body: malformed(
    'Invalid body',
    'The body must be a JSON object.',
    'Send a JSON object, not an array, string or number.',
  ),
  invalid_field: malformed(
    'Invalid field',
    'A field has the wrong type or value.',
    'The message names the field and what it takes.',
  ),
  missing_field: malformed('Missing field', 'A required field is missing.', 'The message names the field.'),
  unknown_field: malformed(
    'Unknown field',
    'The body has a field that this endpoint does not know.',
    'Remove the field, or correct its spelling; the message names it.',
  ),
  invalid_parameter: malformed(
    'Invalid parameter',
    'A path or query parameter has the wrong type or value.',
    'The message names the parameter and what it takes.',
  ),
  invalid_idempotency_key: malformed(
    'Invalid idempotency key',
    'Idempotency-Key must be 1 to 128 printable ASCII characters.',
    'Use a fresh UUID for each paid intent.',
  ),
  idempotency_key_required: malformed(
    'Idempotency key required',
    'This operation needs an Idempotency-Key header, so that it is never done twice by mistake.',
    'Send a fresh UUID for each paid intent, and the same one when you repeat it.',
  ),
  invalid_amount: malformed(
    'Invalid amount',
    'The amount must be a whole number of micro units.',
    'Send digits only; 1 Credit = 1000000 microcredits.',
  ),
  unknown_asset: malformed(
    'Unknown asset',
    'There is no such asset here.',
    'GET /v1/payments/options lists the assets.',
  ),
  amount_below_minimum: malformed(
    'Amount below minimum',
    'The amount is below the smallest that is taken.',
    'The message names the minimum; GET /v1/payments/options lists it for each asset.',
  ),
  amount_above_maximum: malformed(
    'Amount above maximum',
    'The amount is above the largest that is taken.',
    'Split it over several orders; GET /v1/payments/options lists the maximum for each asset.',
  ),
  amount_above_hold: malformed(
    'Amount above hold',
    'This is more than the hold has; nothing was changed.',
    'Check the number. If the call did cost that much, send above_hold: true.',
  ),
  invalid_tx_hash: malformed(
    'Invalid transaction hash',
    'A transaction hash is 0x and 64 hexadecimal digits.',
    'Copy the whole hash from the wallet or the explorer.',
  ),
  invalid_quote_request: malformed(
    'Invalid quote request',
    'A quote takes exactly one of credit_usd and pay_axon, as a plain decimal above zero.',
    'Send {"credit_usd": "10"} or {"pay_axon": "0.25"}: strings, no sign, no exponent.',
  ),
  wrong_payer: malformed(
    'Wrong payer',
    'Another wallet than one of this account sent this transaction.',
    'Pay from the payer_wallet_address of the quote. What was sent from elsewhere can be looked into by the operator.',
  ),
  wrong_recipient: malformed(
    'Wrong recipient',
    'This transaction does not pay the address of the quote by itself.',
    'Only a plain transfer to pay_to_address counts: what a contract passes on inside a transaction does not.',
  ),
  tx_failed: malformed(
    'Transaction failed',
    'This transaction failed on the chain and moved nothing.',
    'Ask for a new quote and pay again.',
  ),
  tx_not_found: malformed(
    'Transaction not found',
    'No node knew this transaction for 24 hours.',
    'Check the hash and the network. If the transaction is in a block by now, send the hash again.',
  ),
  invalid_context: malformed(
    'Invalid payment context',
    'The payment context is not one of this service.',
    'Make a fresh one with POST /v1/payments/context and send its payment_context_token whole.',
  ),
  invalid_payment: malformed(
    'Invalid payment proof',
    'The proof of payment cannot be read. Nothing was sent.',
    'Send the x402 payload as base64 of JSON: version 2 in PAYMENT-SIGNATURE, version 1 in X-PAYMENT.',
  ),
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    phrase: 'Unsupported media type',
    message: 'The content type is not supported here.',
    fix: 'Send content-type: application/json.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    phrase: 'Body too large',
    message: 'The body is larger than this endpoint takes.',
    fix: 'Chat takes 8 MiB, image input 30 MiB, everything else 1 MiB.',
  },
  range_not_satisfiable: {
    status: 416,
    type: 'invalid_request_error',
    phrase: 'Range not satisfiable',
    message: 'The file is shorter than the range that was asked for.',
    fix: 'The Content-Range header of this answer tells how long the file is.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    phrase: 'Headers too large',
    message: 'The request headers are too large.',
    fix: 'Send fewer or shorter headers.',
  },
  uri_too_long: {
    status: 414,
    type: 'invalid_request_error',
    phrase: 'URI too long',
    message: 'The path or query is too long.',
    fix: 'Shorten the address.',
  },
} as const satisfies Record<string, Refusal>
