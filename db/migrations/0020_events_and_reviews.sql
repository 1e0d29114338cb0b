-- What rooms know of each other: tasks of the delivery log, reviews of native payments of what they hold.

-- the delivery log forgets events after a while, tasks stay
alter table tasks
  drop constraint tasks_outbox_id_fkey,
  add constraint tasks_outbox_id_fkey foreign key (outbox_id) references outbox (id) on delete set null;
create index tasks_outbox on tasks (outbox_id) where outbox_id is not null;

-- what was asked for goes when the results go
create index tasks_with_request on tasks (completed_at) where completed_at is not null and request <> '{}';

-- what is held of its Credits while the block of a credited payment is lost
alter table axon_claims add column review_hold_id bigint;

-- the few holds that no call made, to be counted apart
create index holds_review on holds (id) where category = 'review';
