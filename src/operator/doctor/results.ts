import type { Config, Secrets } from '../../config/config.ts'
import type { Clock } from '../../kernel/clock.ts'
import { StoreUnavailable } from '../../storage/object-store.ts'
import { openS3Store } from '../../storage/s3.ts'
import { type Check, failed, ok, skipped } from './check.ts'

/** No result is so old: asking for what comes before it lists the bucket and deletes nothing. */
const FIRST_DAY = '0001-01-01'

/** Whether the S3 service that keeps results lists its bucket for our key; nothing where the data folder keeps them. */
export async function checkResults(
  { config, secrets }: { config: Config; secrets: Pick<Secrets, 'resultsKey'> },
  { clock, offline }: { clock: Clock; offline: boolean },
): Promise<Check[]> {
  const { s3 } = config.results
  if (!s3 || !secrets.resultsKey) return []
  const name = 'results'
  const place = `bucket ${s3.bucket} at ${new URL(s3.endpoint).host}`
  if (offline) return [skipped(name, `${place}, not asked (--offline)`)]
  const store = openS3Store({ ...s3, accessKey: secrets.resultsKey, clock })
  try {
    await store.deleteBefore(FIRST_DAY, 1)
    return [ok(name, `${place} answers`)]
  } catch (error) {
    const why = error instanceof StoreUnavailable ? error.message : 'No answer.'
    return [failed(name, `${place}: ${why}`, 'Correct `results.s3`, the access key, or what the key may do.')]
  } finally {
    await store.close()
  }
}
