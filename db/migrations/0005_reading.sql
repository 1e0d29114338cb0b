-- Calls are listed newest first, and ids are handed out in blocks to each process, so their order is not time's.
-- These take the place of the indexes by id: fewer index rows for each hold, and smaller ones, since all holds
-- of one flush share their time. The second has only what an owner may have funded for its Agents.
create index holds_actor_time on holds (actor_account_id, created_at);
create index holds_funded_time on holds (family_id, created_at) where family_id <> actor_account_id;
drop index holds_actor;
drop index holds_family;
