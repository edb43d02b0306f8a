-- Mails to further addresses of a tenant.

alter table mails
  add column address_id integer,                           -- of addresses; null: the tenant's billing address. No reference: it may be removed
  add column copy_of text;                                 -- the mail that this one is a copy of
