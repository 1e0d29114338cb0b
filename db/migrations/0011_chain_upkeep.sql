-- What a reorganisation takes back, which transfers a chain was read for, who reads it, and why it stopped.

-- Credits that were given for a payment which the chain lost again, taken back by an operator
alter type transfer_kind add value 'reversal';

-- the hold on Credits whose payment a reorganisation took away, while somebody has to decide
alter table orders add column review_hold_id bigint;

-- How far a chain was read for each token and recipient. Those that are read to the cursor go on with it; one that
-- is new, or that a process with other settings left out, is read up on its own.
create table chain_reads (
  chain_id bigint not null,
  token_address text not null check (token_address = lower(token_address)),
  recipient text not null check (recipient = lower(recipient)),
  read_to bigint not null,
  primary key (chain_id, token_address, recipient)
);

-- Which process reads a chain, until when, and what it found. It saves work and guards nothing: whoever reads
-- without it is held back by the cursor and the rows it locks.
create table chain_leases (
  chain_id bigint primary key,
  holder text not null,
  until timestamptz not null,
  healthy boolean not null,
  trouble text,
  behind bigint not null,
  read_at timestamptz
);

-- A chain that was reorganised deeper than is remembered is read no more until an operator has decided.
alter table chain_cursors
  add column stopped text,
  add column stopped_at timestamptz,
  -- where an operator went back to: what was compared above it was another chain
  add column rewound_to bigint,
  add column rewound_at timestamptz;

-- A comparison goes on from one of the same recipients: another address brings another balance.
alter table reconciliations add column recipients text;

grant insert, update on chain_reads to farebox_app;
grant insert, update, delete on chain_leases to farebox_app;
