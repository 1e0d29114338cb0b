import type { Refusal } from './refusal.ts'

/** 401, 403: who is calling, and what they may do. */
export const accessRefusals = {
  unauthorized: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Missing or invalid credential',
    message:
      'No valid credential was sent. Send Authorization: Bearer <API key or access token>; an Agent gets one by POST /v1/auth/challenge and POST /v1/auth/verify.',
    fix: 'Check the key for typos, or sign in again. Unknown, mistyped, revoked and expired credentials are answered alike.',
  },
  invalid_challenge: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid challenge',
    message:
      'This challenge cannot be answered: it does not exist, has expired, was answered before, or was closed after five wrong signatures. Ask for a new one by POST /v1/auth/challenge.',
    fix: 'Ask for a new challenge and answer it within 5 minutes, once. At most 5 are open for a wallet: a sixth takes the place of the oldest. Where a credential is sent too, as when a wallet is bound, the status is 400.',
  },
  invalid_signature: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid signature',
    message:
      "The signature is not this wallet's EIP-191 signature of the challenge message. After five wrong signatures the challenge is closed.",
    fix: 'Sign the message exactly as it was received (personal_sign) with the wallet that the challenge names: 65 bytes as hex, of an ordinary wallet (EOA). Where a credential is sent too, as when a wallet is bound, the status is 400.',
  },
  invalid_refresh_token: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid refresh token',
    message:
      'The refresh token is not valid: it has expired, its session was ended, or it is no refresh token of this server. Sign in again.',
    fix: 'Sign in again; API keys keep working meanwhile.',
  },
  refresh_token_reused: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Refresh token used before',
    message:
      'This refresh token was exchanged before, here or by another client at the same moment. Its session goes on with the newer token. If that was not you, end it by POST /v1/auth/logout with this token, and sign in again.',
    fix: 'Exchange refresh tokens one after another and store both new tokens together. After a timeout whose answer was lost, sign in again.',
  },
  invalid_sign_in_code: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid sign-in code',
    message:
      'This code does not exist, was exchanged before, or is older than 60 seconds. Begin again at GET /v1/auth/oidc/{provider}/start.',
    fix: 'Exchange the code at once, and once. Begin the sign-in again otherwise.',
  },
  invalid_registration: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid registration',
    message:
      'This registration does not exist, was finished before, is older than 15 minutes, or was closed after ten wrong invitation codes. Begin again at GET /v1/auth/oidc/{provider}/start.',
    fix: 'Begin the sign-in again.',
  },
  authorization_pending: {
    status: 400,
    type: 'permission_error',
    phrase: 'Authorization pending',
    message: 'The owner has not decided yet. Ask again after `interval` seconds.',
    fix: 'Keep asking at the pace of Retry-After while the user_code is shown.',
  },
  slow_down: {
    status: 400,
    type: 'permission_error',
    phrase: 'Slow down',
    message: 'The owner has not decided yet, and this was asked too soon. The interval is longer from now on.',
    fix: 'Wait as Retry-After says: 5 seconds more than before each time this happens.',
  },
  access_denied: {
    status: 400,
    type: 'permission_error',
    phrase: 'Access denied',
    message: 'The owner refused this login.',
    fix: 'Begin another one by POST /v1/auth/device if that was a mistake.',
  },
  expired_token: {
    status: 400,
    type: 'permission_error',
    phrase: 'Device code expired',
    message:
      'This device_code is older than 10 minutes, was exchanged before, or never existed. Begin again by POST /v1/auth/device.',
    fix: 'Begin again, approve within 10 minutes, and exchange the code once. After an answer that was lost, begin again too.',
  },
  invitation_invalid: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invitation invalid',
    message:
      'This invitation code is unknown, expired, withdrawn or used up. Correct it, or go on without one by leaving invitation_code out.',
    fix: 'Check the code for typos, or ask the operator for another one.',
  },
  invitation_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invitation required',
    message: 'A new account needs an invitation code here.',
    fix: 'Ask the operator for a code.',
  },
  owner_wallet_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Owner wallet not allowed',
    message:
      "This wallet belongs to an owner account, and owner wallets cannot sign in as an Agent. Use a wallet of the Agent's own.",
    fix: 'Owners sign in in the browser; give the Agent a wallet of its own.',
  },
  account_banned: {
    status: 403,
    type: 'permission_error',
    phrase: 'Account banned',
    message: 'This account is banned. Contact the operator.',
    fix: 'Only the operator can lift a ban.',
  },
  account_deactivated: {
    status: 403,
    type: 'permission_error',
    phrase: 'Account deactivated',
    message: 'This account is deactivated. Contact the operator.',
    fix: 'Only the operator can reactivate an account.',
  },
  access_token_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Access token required',
    message: 'This endpoint needs an access token of a login session; an API key cannot use it.',
    fix: 'Sign in and send the access token.',
  },
  admin_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Admin required',
    message: 'This endpoint is for admins of this server. The account of this session is an ordinary user.',
    fix: 'Sign in with an owner account whose role is admin. An operator gives the role by `farebox account role <account> admin`.',
  },
  own_account: {
    status: 403,
    type: 'permission_error',
    phrase: 'Own account',
    message: 'An admin cannot do this to the account that asks: nothing was changed.',
    fix: 'Have another admin do it, or use the command line on the server.',
  },
  owner_account_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Owner account required',
    message: "Only an owner account can do this; this credential is an Agent's.",
    fix: 'Sign in as the owner, in the browser.',
  },
  agent_account_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Agent account required',
    message: "Only an Agent can do this; this credential is an owner's.",
    fix: 'Use a credential of the Agent: it signs in by POST /v1/auth/challenge and POST /v1/auth/verify.',
  },
  delegation_invalid: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invalid delegation',
    message:
      'This delegation does not let this Agent bind a wallet: it does not exist, is for another Agent, has expired, was used, was replaced by a newer one, or the Agent is no longer linked to the owner. The owner makes one by POST /v1/me/wallet/delegation.',
    fix: 'Ask the owner for a new delegation and use it within 10 minutes, once, with a credential of the Agent that it names.',
  },
  not_original_account: {
    status: 403,
    type: 'permission_error',
    phrase: 'Belongs to another account',
    message: 'This belongs to another account.',
    fix: 'Use the credential of the account that made it.',
  },
  wallet_not_linked: {
    status: 403,
    type: 'permission_error',
    phrase: 'Wallet not linked',
    message: 'This account has no linked wallet to pay from.',
    fix: 'Link a wallet first; only its own plain transfer can pay an order.',
  },
  wallet_changed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Wallet changed',
    message: 'The wallet that this order is to be paid from is no longer linked to the account.',
    fix: 'Link the same wallet again, or make a new order with the wallet that is linked now.',
  },
  funding_mode_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Funding mode not allowed',
    message: 'This capability cannot be paid for in the billing mode of this Agent.',
    fix: 'GET /v1/capabilities/{slug} lists its funding_modes; the owner can change the billing mode of the Agent.',
  },
  origin_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Origin not allowed',
    message: 'This host name or web page may not call this endpoint.',
    fix: 'Call it under its public address, from a program and not from a web page. The operator can allow more in farebox.yaml under mcp.',
  },
  invalid_result_link: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invalid link',
    message: 'This is no link to a result that was given out here.',
    fix: 'Use the whole `url` of a result as it is, with its query. GET the task for a fresh one.',
  },
  payer_of_another_account: {
    status: 403,
    type: 'permission_error',
    phrase: 'Wallet of another account',
    message: 'The paying wallet does not belong to the account of this credential. Nothing was sent.',
    fix: 'Leave the credential out, or pay from a wallet of its account.',
  },
  recipient_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Recipient not allowed',
    message: 'Credits can be bought for this account itself and for Agents that are linked to it.',
    fix: 'Link the Agent first, or leave recipient_account_id out.',
  },
} as const satisfies Record<string, Refusal>
