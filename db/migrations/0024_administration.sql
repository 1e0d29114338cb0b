-- What admins look for, among a million accounts.

-- the beginning of an e-mail or wallet address, whatever the collation of the database
create index accounts_email on accounts (lower(email) text_pattern_ops) where email is not null;
create index account_wallets_address on account_wallets (address text_pattern_ops);
-- the beginnings of words of a label
create index accounts_label on accounts using gin (to_tsvector('simple', label)) where label is not null;
create index agent_links_label on agent_links using gin (to_tsvector('simple', agent_label)) where agent_label <> '';
-- the few that are not as most are
create index accounts_type on accounts (account_type, id);
create index accounts_admins on accounts (id) where role = 'admin';
create index accounts_not_active on accounts (status, id) where status <> 'active';

-- what an account was given, newest first
create index credit_grants_account on credit_grants (account_id, id);

-- what somebody did, and who did something
create index audit_log_actor on audit_log (actor, id);
create index audit_log_action on audit_log (action, id);
