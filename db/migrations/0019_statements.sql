-- What statements, usage and audits of long histories stand on. The path of a call pays next to nothing for it: rows are
-- written in the order of their time, so a summary of each block range (BRIN) finds those of an hour.
create index transfers_time on transfers using brin (moved_at) with (pages_per_range = 64, autosummarize = on);
create index holds_time on holds using brin (created_at) with (pages_per_range = 64, autosummarize = on);
create index hold_resolutions_time on hold_resolutions using brin (resolved_at) with (pages_per_range = 64, autosummarize = on);
create index credit_grants_time on credit_grants using brin (created_at) with (pages_per_range = 64, autosummarize = on);

-- Before closed_until nothing can be stamped any more: every transaction that had begun by then has ended.
-- The candidate becomes it once those that ran when it was taken are gone (ledger_close_time).
create table closed_time (
  only_row boolean primary key default true check (only_row),
  closed_until timestamptz not null,
  candidate timestamptz,
  waits_for text[] not null default '{}'
);
insert into closed_time (closed_until)
select date_trunc('hour', least((select min(created_at) from holds), (select min(moved_at) from transfers), now()));

-- Usage by hour, written once an hour is closed. Rows are only added, and those of one group make its sum.
-- key_id is null for calls with an access token.
create table usage_hours (
  account_id bigint not null,
  hour timestamptz not null,
  model text not null,
  actor_account_id bigint not null,
  key_id bigint,
  charged_micro bigint not null,
  refunded_micro bigint not null,
  owner_charged_micro bigint not null,
  calls bigint not null,
  errors bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null
);
create index usage_hours_account on usage_hours (account_id, hour);

-- Calls that are counted in usage_hours and had not ended then: what they came to is read from themselves.
create table usage_open (
  account_id bigint not null,
  hour timestamptz not null,
  hold_id bigint not null,
  primary key (account_id, hour, hold_id)
);

-- Up to where usage_hours goes.
create table usage_rolled (
  only_row boolean primary key default true check (only_row),
  rolled_until timestamptz not null
);
insert into usage_rolled (rolled_until) select closed_until from closed_time;

-- Calls as usage counts them, once for each account that sees them: who made it, and the owner that paid a part of it.
-- What a call used is null until it ends. owner_charged_micro: what was paid for it by others than who made it.
create view usage_calls as
select h.actor_account_id as account_id, h.id as hold_id, h.created_at, h.subject as model, h.actor_account_id,
       case when h.credential_kind = 'api_key' then h.credential_id end as key_id, r.outcome,
       (r.usage ->> 'input_tokens')::numeric as input_tokens, (r.usage ->> 'output_tokens')::numeric as output_tokens,
       case when h.family_id <> h.actor_account_id and r.actual_micro > 0 then (
         select coalesce(sum(greatest(0, least(p.amount_micro, r.actual_micro - p.used_before))), 0)::bigint
         from (select a.*, sum(a.amount_micro) over (order by a.n) - a.amount_micro as used_before from hold_allocations a where a.hold_id = h.id) p
         where p.payer_account_id <> h.actor_account_id) end as owner_charged_micro
from holds h left join hold_resolutions r on r.hold_id = h.id
-- Credits that are set aside because their payment is in doubt are held by nobody's call
where h.category <> 'review'
union all
select h.family_id, h.id, h.created_at, h.subject, h.actor_account_id, case when h.credential_kind = 'api_key' then h.credential_id end, r.outcome,
       (r.usage ->> 'input_tokens')::numeric, (r.usage ->> 'output_tokens')::numeric, null
from holds h left join hold_resolutions r on r.hold_id = h.id
where h.family_id <> h.actor_account_id
  and exists (select from hold_allocations a where a.hold_id = h.id and a.payer_account_id = h.family_id);

-- Up to where movements were audited as they came, and the holds that were open there.
create table audit_progress (
  only_row boolean primary key default true check (only_row),
  audited_until timestamptz not null
);
insert into audit_progress (audited_until) select closed_until from closed_time;
create table audit_open_holds (
  hold_id bigint primary key
);

create trigger append_only before update or delete or truncate on usage_hours for each statement execute function refuse_change();

grant insert on usage_hours to farebox_app;
grant insert, delete on usage_open to farebox_app;
grant update on usage_rolled to farebox_app;
