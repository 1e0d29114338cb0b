import type { Database } from '../../db/database.ts'

/** Assets that were ever compared with their chain, in the order of their names. */
export async function comparedAssets(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('reconciliations').select('asset_id').distinct().orderBy('asset_id').execute()
  return rows.map(({ asset_id }) => asset_id)
}
