-- The audit of what is new finds the ends of holds by their ids: nothing looks for them by time any more. What it keeps
-- are therefore the holds that were open at the time up to which it audited, not those that are open now.
insert into audit_open_holds (hold_id)
select r.hold_id from hold_resolutions r, audit_progress p where r.resolved_at >= p.audited_until
on conflict do nothing;
drop function if exists holds_ended(timestamptz, timestamptz);
drop index hold_resolutions_time;
