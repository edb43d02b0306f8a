-- A signal that tells a workflow of its tickets is deleted once it is sent: the tickets' own rows say the same.
grant delete on workflow_outbox to simherd_platform;
