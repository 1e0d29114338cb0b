export type { Chat, ChatAnswer, ChatBody, ChatOptions, ChatPart, ChatUsage } from './chat.ts'
export { createFarebox, type Farebox, type FareboxOptions } from './client.ts'
export type { AppliedRefund, CallRecord, Credits, Movement, Period, Refund, SettlementItem } from './credits.ts'
export type { DeviceCode, DeviceLogin } from './device-login.ts'
export {
  AuthenticationError,
  ConflictError,
  FareboxError,
  InsufficientCreditsError,
  PaymentRejectedError,
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
  sendBy,
  type TransferRequest,
  transferOf,
  type WalletProvider,
} from './orders.ts'
export type { Answer, Call, Method, PathOf, Sent } from './requests.ts'
export { type Account, memoryStore, type Session, type Signer, type TokenStore, type Tokens } from './session.ts'
export type { MediaBody, Task, TaskOptions, TaskResult, Tasks } from './tasks.ts'
export type { TransportOptions } from './transport.ts'
export { type Delivery, verifyWebhook, type WebhookEvent, WebhookNotAuthentic } from './webhooks.ts'
export {
  PaymentUnsettledError,
  type SignedPayment,
  type TopUp,
  type TopUpRequest,
  type TransferAuthorization,
  type TypedDataSigner,
} from './x402.ts'
