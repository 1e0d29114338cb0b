-- What capability versions promised when they were first served (spec 9), and what became of each configuration file.

create table capability_versions (
  slug text not null check (slug ~ '^[a-z0-9-]{1,40}$'),
  version text not null check (version ~ '^[A-Za-z0-9._-]{1,32}$'),
  -- SHA-256 over the canonical form (RFC 8785) of the descriptor: the same version with another hash is drift
  hash bytea not null check (octet_length(hash) = 32),
  -- as it was written, without what was left to defaults
  descriptor json not null,
  frozen_at timestamptz not null default now(),
  primary key (slug, version)
);

create type configuration_outcome as enum ('applied', 'unchanged', 'refused');

-- Each time a running server read its configuration file again.
create table configuration_loads (
  id bigint generated always as identity primary key,
  process_id bigint not null references processes (id),
  outcome configuration_outcome not null,
  -- for people: what changed, or what is wrong
  lines text[] not null,
  loaded_at timestamptz not null default now()
);
create index configuration_loads_process on configuration_loads (process_id, id);

create trigger append_only before update or delete or truncate on capability_versions for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on configuration_loads for each statement execute function refuse_change();

grant select, insert on capability_versions, configuration_loads to farebox_app;
