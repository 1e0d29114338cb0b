export { type Chat, type ChatBody, createFarebox, type Farebox, type FareboxOptions } from './client.ts'
export {
  AuthenticationError,
  ConflictError,
  FareboxError,
  InsufficientCreditsError,
  PermissionError,
  RateLimitError,
  UnavailableError,
} from './errors.ts'
export {
  NothingWasSent,
  type Order,
  type Orders,
  type Purchase,
  type SendTransfer,
  type TransferRequest,
} from './orders.ts'
export { type Account, memoryStore, type Session, type Signer, type TokenStore, type Tokens } from './session.ts'
export type { Task, Tasks } from './tasks.ts'
export { verifyWebhook, type WebhookEvent, WebhookNotAuthentic } from './webhooks.ts'
export type { TopUp, TopUpRequest, TransferAuthorization, TypedDataSigner } from './x402.ts'
