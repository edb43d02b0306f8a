-- How long a mail is tried, and whether its address is refused.

alter table mails
  add column tried_since timestamptz,                      -- when the server first said: later
  add column refused_at timestamptz;                       -- when the server first refused the address
