import type { Tx } from '../../db/database.ts'

/** The account of this wallet, locked until the transaction ends: its sign-ins are serial, its first key is made once. */
export async function lockAccountOf(
  tx: Tx,
  walletAddress: string,
): Promise<
  | { id: bigint; account_type: 'owner' | 'agent'; status: 'active' | 'banned' | 'deactivated' }
  | undefined
> {
  return tx
    .selectFrom('accounts')
    .select(['id', 'account_type', 'status'])
    .where('wallet_address', '=', walletAddress)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** True for the error of a second account with one wallet. */
export function isWalletTaken(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23505' && constraint === 'accounts_wallet_address_key'
}
