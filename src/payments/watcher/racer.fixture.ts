import { developmentAsset, watchedThrough } from '../../../test/chain.ts'
import { openDatabase } from '../../db/database.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { chainRound } from './round.ts'

// A watcher in a process of its own, to be killed: it runs round after round and says so after each.

const [databaseUrl = '', rpcUrl = '', recipient = ''] = process.argv.slice(2)
const { db } = openDatabase({
  url: databaseUrl,
  connections: 4,
  statementTimeoutMs: 15_000,
  onIdleError: () => undefined,
})
const round = chainRound(
  { db, clock: systemClock, random: systemRandom, reconcileMs: 1e9, onTrouble: () => undefined },
  watchedThrough([rpcUrl, `${rpcUrl}/`], [developmentAsset(recipient)]),
)
for (;;) {
  await round.once()
  process.stdout.write('.')
}
