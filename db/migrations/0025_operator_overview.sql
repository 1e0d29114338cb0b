-- What an operator's overview reads, so that its cost does not grow with the history.

-- margins of all accounts together over a range of hours, from the index alone
create index usage_hours_time on usage_hours (hour)
  include (model, account_id, actor_account_id, charged_micro, refunded_micro, calls, errors, input_tokens, output_tokens);

-- the few payments that are on their way or in doubt
create index x402_payments_undone on x402_payments (status) where status in ('awaiting_settlement', 'pending', 'review_required');

-- what the ledger gave for native payments, to be compared with what claims say
create index credit_grants_axon on credit_grants (id) where source = 'axon';
