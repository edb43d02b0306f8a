-- phase: contract
-- The picture of an activation code follows from the code, and is made when it is shown.
-- blocks: sims, for a moment: a column goes without its rows being read

alter table sims drop column esim_qr_data_url;
