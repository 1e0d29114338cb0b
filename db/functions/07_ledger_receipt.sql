-- Gives Credits for one on-chain transfer, once over all payment rails. `taken` says that another purchase has
-- it: nothing is given then, and `by` names it as rail:id.
create or replace function ledger_grant_receipt(
  receipt_chain_id bigint, receipt_tx_hash text, receipt_log_position integer,
  grant_source grant_source, grant_source_id text, account bigint, amount bigint, grant_reason text
) returns table (outcome text, grant_id bigint, taken_by text) language plpgsql security definer
set search_path = pg_catalog, public, pg_temp as $$
declare
  holder record;
  given record;
begin
  perform ledger_lock_families(array[account]);
  -- two rails that offer one transfer at once wait for each other here
  perform pg_advisory_xact_lock(hashtextextended(receipt_chain_id || receipt_tx_hash || receipt_log_position, 0));
  select g.id, g.source, g.source_id into holder
  from chain_receipts r join credit_grants g on g.id = r.grant_id
  where r.chain_id = receipt_chain_id and r.tx_hash = receipt_tx_hash and r.log_position = receipt_log_position;
  if found then
    if holder.source = grant_source and holder.source_id = grant_source_id then
      return query select 'repeated', holder.id, null::text;
    else
      return query select 'taken', holder.id, holder.source || ':' || holder.source_id;
    end if;
    return;
  end if;
  select * into given from ledger_grant(grant_source, grant_source_id, account, 'purchased', amount, null, grant_reason, 'rail:' || grant_source) g;
  if given.repeated then
    -- this purchase was paid by another transfer: a second one is never a second credit
    return query select 'paid_before', given.grant_id, null::text;
    return;
  end if;
  insert into chain_receipts (chain_id, tx_hash, log_position, grant_id, rail)
  values (receipt_chain_id, receipt_tx_hash, receipt_log_position, given.grant_id, grant_source);
  return query select 'granted', given.grant_id, null::text;
end $$;
