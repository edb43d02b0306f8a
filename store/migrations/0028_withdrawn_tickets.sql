-- Who took a ticket back: asked again, that workflow is answered as it was.

alter table tickets add column withdrawn_by text;          -- the workflow; null: a person, or it was not taken back
