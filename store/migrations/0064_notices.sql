-- How a tenant wants to be told.

alter table tenants
  add column time_zone text not null default 'UTC',        -- IANA name: instants in mails
  add column feed_every text not null default 'P1D',       -- ISO 8601: how often usage is received
  add column escalate_after text;                          -- ISO 8601: an unacknowledged Critical is escalated; null: never
