import { accountCommands } from './account.ts'
import { auditCommands } from './audit.ts'
import { auditLogCommands } from './audit-log.ts'
import { axonCommands } from './axon.ts'
import { chainCommands } from './chain.ts'
import { configCommands } from './config.ts'
import { creditsCommands } from './credits.ts'
import { doctorCommands } from './doctor.ts'
import { exportCommands } from './export.ts'
import { holdCommands } from './hold.ts'
import { type KeyInput, keyCommands } from './key.ts'
import { migrateCommands } from './migrate.ts'
import { ownerCommands } from './owner.ts'
import { pricesCommands } from './prices.ts'
import type { AddCommands } from './program.ts'
import { reconcileCommands } from './reconcile.ts'
import { refundCommands } from './refund.ts'
import { reviewCommands } from './review.ts'
import { signingKeyCommands } from './signing-key.ts'
import { verifyCommands } from './verify.ts'
import { webhookCommands } from './webhook.ts'
import { x402Commands } from './x402.ts'

/** Every command of the operator but `serve`, in the order in which the help lists them. */
export const operatorCommands = (input: KeyInput): AddCommands[] => [
  migrateCommands,
  doctorCommands,
  configCommands,
  accountCommands,
  keyCommands(input),
  reconcileCommands,
  reviewCommands,
  chainCommands,
  webhookCommands,
  axonCommands,
  ownerCommands,
  creditsCommands,
  holdCommands,
  refundCommands,
  pricesCommands,
  auditCommands,
  auditLogCommands,
  exportCommands,
  verifyCommands,
  signingKeyCommands,
  x402Commands,
]
