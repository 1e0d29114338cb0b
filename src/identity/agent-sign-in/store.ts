import type { Tx } from '../../db/database.ts'

/** The account of this wallet, locked until the transaction ends: its sign-ins are serial, its first key is made once. */
export async function lockAccountOf(
  tx: Tx,
  walletAddress: string,
): Promise<{ id: bigint; account_type: 'owner' | 'agent'; status: 'active' | 'banned' | 'deactivated' } | undefined> {
  return tx
    .selectFrom('account_wallets')
    .innerJoin('accounts', 'accounts.id', 'account_wallets.account_id')
    .select(['accounts.id', 'account_type', 'status'])
    .where('address', '=', walletAddress)
    .forNoKeyUpdate('accounts')
    .executeTakeFirst()
}
