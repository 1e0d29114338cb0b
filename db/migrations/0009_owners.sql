-- Owners sign in through identity providers; invitation codes admit new ones.

-- A code that lets people register. Only its hash is kept: the code is shown once, to the operator.
create table invitations (
  id bigint generated always as identity primary key,
  code_hash bytea not null unique,
  -- for whom it was made, as the operator noted it
  note text not null default '',
  max_uses integer not null check (max_uses > 0),
  -- counted in the transaction that makes the account, and never above what was allowed
  uses integer not null default 0 check (uses between 0 and max_uses),
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);

-- Who an owner is at an identity provider. The pair is the identity: an e-mail address never is.
create table owner_identities (
  issuer text not null,
  subject text not null,
  account_id bigint not null references accounts (id),
  -- what admitted the account, when it was a code
  invitation_id bigint references invitations (id),
  created_at timestamptz not null default now(),
  last_sign_in_at timestamptz not null default now(),
  primary key (issuer, subject)
);
create index owner_identities_account on owner_identities (account_id);
create index owner_identities_invitation on owner_identities (invitation_id) where invitation_id is not null;

-- A visit to an identity provider, from the start to the callback, which takes the row.
create table owner_logins (
  state_hash bytea primary key,
  provider text not null,
  code_verifier text not null,
  nonce text not null,
  -- kept here, so that the code survives the visit and is in no address but the first
  invitation_hash bytea,
  return_to text not null default '',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index owner_logins_expiry on owner_logins (expires_at);

-- A sign-in on its way from the callback to the page: its code is exchanged once for tokens.
create table owner_sign_in_codes (
  code_hash bytea primary key,
  account_id bigint not null references accounts (id),
  expires_at timestamptz not null
);
create index owner_sign_in_codes_expiry on owner_sign_in_codes (expires_at);

-- Someone who proved who they are and whose invitation code was no good: they may correct it or go on without.
create table owner_registrations (
  id_hash bytea primary key,
  issuer text not null,
  subject text not null,
  email text,
  failed_attempts smallint not null default 0,
  expires_at timestamptz not null
);
create index owner_registrations_expiry on owner_registrations (expires_at);

grant insert, update on invitations, owner_identities to farebox_app;
-- update also lets lapsed rows be locked before they are cleared away
grant insert, update, delete on owner_logins, owner_sign_in_codes, owner_registrations to farebox_app;
