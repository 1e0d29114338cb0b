-- The part of ledger_audit() about payments: what was credited for each, by which transfer, and what reviews hold of it.
-- One row for each difference.
create or replace function payment_audit() returns table (check_name text, subject text, expected text, found text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  with purchases as (
    -- every payment that says of itself that it was credited, with the transfer that it says it was credited for
    select 'order'::grant_source as rail, o.id::text as id, o.account_id, o.grant_id,
           -- an operator credits what arrived, which may be less than what was asked for
           coalesce((e.data ->> 'credited_micro')::bigint, o.credit_micro) as credited,
           case when e.event = 'settle' then o.chain_id || ' ' || (e.data ->> 'tx_hash') || ' ' || (e.data ->> 'log_position') end as transfer
    from orders o left join lateral (
      select e.event, e.data from order_events e where e.order_id = o.id and e.event in ('settle', 'operator_credit') order by e.n limit 1
    ) e on true
    where o.status = 'completed' or o.grant_id is not null
    union all
    -- a reorganisation may bring its transfer back in another transaction: the first one counts
    select 'x402', p.id::text, p.account_id, p.grant_id, p.credit_micro,
           p.chain_id || ' ' || (select e.data ->> 'tx_hash' from x402_events e where e.payment_id = p.id and e.event in ('credit', 'operator_credit') order by e.n limit 1)
    from x402_payments p where p.status = 'credited' or p.grant_id is not null
    union all
    select 'axon', c.id::text, c.account_id, c.grant_id, c.credited_micro, c.chain_id || ' ' || c.tx_hash || ' -1'
    from axon_claims c where c.status = 'completed' or c.grant_id is not null
  ), reviews as (
    -- what is in doubt after its Credits were given, by the words that its hold is kept under
    select 'order ' || o.id as subject, o.review_hold_id as hold_id, o.status = 'review_required' as is_open,
           exists (select from order_events e where e.order_id = o.id and e.event = 'undo') as was_opened
    from orders o where o.grant_id is not null or o.review_hold_id is not null
    union all
    select 'axon ' || c.id, c.review_hold_id, c.status = 'review_required', exists (select from axon_events e where e.claim_id = c.id and e.event = 'undo')
    from axon_claims c where c.grant_id is not null or c.review_hold_id is not null
  )
  select coalesce(p.rail, g.source) || '_credited', coalesce(p.rail, g.source) || ' ' || coalesce(p.id, g.source_id),
         coalesce(coalesce(p.credited::text, 'nothing') || ' to account ' || p.account_id || ' by grant ' || coalesce(p.grant_id::text, 'none'), 'no Credits'),
         coalesce(g.amount_micro || ' to account ' || g.account_id || ' by grant ' || g.id, 'no Credits')
  from purchases p full join (select * from credit_grants where source in ('order', 'x402', 'axon')) g on g.source = p.rail and g.source_id = p.id
  where p.id is null or g.id is null or p.grant_id is distinct from g.id or p.account_id <> g.account_id or p.credited is distinct from g.amount_micro::bigint
  union all
  select 'order_settled', 'order ' || e.order_id, o.credit_micro::text, coalesce(e.data ->> 'credited_micro', 'nothing')
  from order_events e join orders o on o.id = e.order_id where e.event = 'settle' and e.data ->> 'credited_micro' is distinct from o.credit_micro::text
  union all
  select 'grant_receipt', 'grant ' || g.id, 'one transfer on a chain, by ' || g.source, coalesce('one by ' || r.rail, 'none')
  from credit_grants g left join chain_receipts r on r.grant_id = g.id
  where g.source in ('order', 'x402', 'axon') and r.rail is distinct from g.source
    -- an operator may credit what the chain cannot show
    and not (r.rail is null and g.source = 'order' and exists (select from order_events e where e.order_id::text = g.source_id and e.event = 'operator_credit'))
  union all
  -- the other way round: a transfer is used up for Credits of the rail that it names, and for no others
  select 'receipt_grant', 'transfer ' || r.tx_hash || ' ' || r.log_position, 'a grant by ' || r.rail, 'one by ' || g.source
  from chain_receipts r join credit_grants g on g.id = r.grant_id where r.rail <> g.source and g.source not in ('order', 'x402', 'axon')
  union all
  select 'receipt_of_payment', p.rail || ' ' || p.id, p.transfer, r.chain_id || ' ' || r.tx_hash || ' ' || r.log_position
  from purchases p join chain_receipts r on r.grant_id = p.grant_id
  where r.chain_id || ' ' || r.tx_hash || case when p.rail = 'x402' then '' else ' ' || r.log_position end <> p.transfer
  union all
  select 'review_hold', 'hold ' || h.id, case when v.subject is null then 'a payment in doubt' else v.subject || ' in review' end,
         h.subject || case when v.subject is null then ', which never was' else ', which holds ' || coalesce(v.hold_id::text, 'nothing') end
  from holds h left join reviews v on v.subject = h.subject and v.was_opened
  where h.category = 'review'
    and (v.subject is null
         -- it is open as long as its review is, and no longer
         or exists (select from hold_resolutions r where r.hold_id = h.id) = (v.is_open and v.hold_id is not distinct from h.id))
  union all
  select 'review_holds', v.subject, 'an open hold of its own', 'hold ' || v.hold_id
  from reviews v where v.hold_id is not null and not exists (
    select from holds h where h.id = v.hold_id and h.category = 'review' and h.subject = v.subject)
$$;
