-- phase: contract
-- A mail has a kind, which says whether it is grouped.
-- blocks: mails, for as long as it takes to read them

alter table mails drop column grouped, alter column kind set not null;
