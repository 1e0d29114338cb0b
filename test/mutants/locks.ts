import type { Mutant } from './mutant.ts'

const first = 'test/races/locks.test.ts'
const unlocked = (file: string, text: string, what: string, replacement = ''): Mutant => ({
  file,
  text,
  replacement,
  why: `${what} does not wait for its family: two of them decide on the same balance`,
  first,
})

/** Locks that are dropped, taken in another order or not looked behind. */
export const lockMutants: readonly Mutant[] = [
  {
    file: '01_ledger_lock.sql',
    text: 'order by id for no key update',
    replacement: 'order by id desc for no key update',
    why: 'families are locked from the highest: two that need the same two wait for each other',
    first,
  },
  {
    file: '01_ledger_lock.sql',
    text: 'order by id for no key update',
    replacement: 'for no key update',
    why: 'families are locked in the order in which they are found: two that need the same two wait for each other',
    first,
  },
  {
    file: '01_ledger_lock.sql',
    text: 'for no key update) locked',
    replacement: 'for key share) locked',
    why: 'the lock of a family keeps nobody out',
    first,
  },
  {
    file: '01_ledger_lock.sql',
    text: 'if exists (select from accounts where id = any (account_ids) and family_id <> all (family_ids)) then',
    replacement: 'if false then',
    why: 'an account that moved to another family while its old one was waited for is decided on without a lock',
    first,
  },
  unlocked('04_ledger_apply.sql', 'perform ledger_lock_families(account_ids);', 'a flush'),
  {
    file: '04_ledger_apply.sql',
    text: `    union all
    select h.actor_account_id from unnest(resolutions) c join holds h on h.id = c.id`,
    replacement: '',
    why: "the end of a hold above it takes the actor's Credits without the lock of the actor's family, where the actor has left its owner",
    first,
  },
  {
    file: '04_ledger_apply.sql',
    text: `    union all
    select a.payer_account_id from unnest(resolutions) c join hold_allocations a on a.hold_id = c.id`,
    replacement: '',
    why: "the end of a hold moves a former owner's Credits without the lock of the owner's family",
    first,
  },
  unlocked('05_ledger_grant.sql', 'perform ledger_lock_families(array[account]);', 'a grant'),
  unlocked('07_ledger_receipt.sql', 'perform pg_advisory_xact_lock(', 'the second rail of one transfer', 'perform ('),
  unlocked(
    '08_ledger_authorize.sql',
    'perform ledger_lock_families((select array_agg(a.payer_account_id) || made.actor_account_id from hold_allocations a where a.hold_id = hold));',
    'an authorization',
  ),
  {
    file: '08_ledger_authorize.sql',
    text: 'select array_agg(a.payer_account_id) || made.actor_account_id from',
    replacement: 'select array[max(made.actor_account_id)] from',
    why: 'an authorization does not wait for the family of a former owner, whose Credits it takes',
    first,
  },
  {
    file: '08_ledger_authorize.sql',
    text: `hold_id = hold));
  if exists (select from hold_resolutions r where r.hold_id = hold) then`,
    replacement: `hold_id = hold));
  if false then`,
    why: 'of two authorizations at once the second pays again',
    first,
  },
  unlocked(
    '08_ledger_review_hold.sql',
    'perform ledger_lock_families(array[given.account_id]);',
    'a review that begins',
  ),
  unlocked('08_ledger_review_hold.sql', 'perform ledger_lock_families(array[account]);', 'a review that ends'),
  unlocked('09_ledger_expire.sql', 'perform ledger_lock_families(array[account]);', 'an expiry'),
  unlocked(
    '10_ledger_refund.sql',
    'perform ledger_lock_families((select array_agg(a.payer_account_id) || account from hold_allocations a where a.hold_id = call));',
    'a refund',
  ),
  {
    file: '10_ledger_refund.sql',
    text: 'select array_agg(a.payer_account_id) || account from',
    replacement: 'select array[max(account)] from',
    why: 'a refund does not wait for the family of a former owner, to whom it gives back',
    first,
  },
  {
    file: '10_ledger_refund.sql',
    text: `hold_id = call));
  select r.id into given from refunds r where r.call_id = call;`,
    replacement: 'hold_id = call));',
    why: 'of two refunds at once the second is an error, and nobody is told that there is one',
    first,
  },
  unlocked('10_ledger_refund.sql', 'perform ledger_lock_families(array[asked.account_id]);', "an operator's decision"),
]
