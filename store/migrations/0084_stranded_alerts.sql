-- phase: contract
-- no-transaction
-- Alerts that a release before left as they were are ended: those of cycles that are closed here, silently, as a close
-- does; those of subjects that are gone by an evaluation, which is asked for of all that is open. Processes of that release
-- would take the marks off the list and leave the alerts: none is left by now. The owner is bound by the policies, and
-- needs some of its own.
-- blocks: nobody: nobody works on alerts of closed cycles, marks are locked in their order, a policy is made in a moment

drop policy if exists stranded on cycles;
create policy stranded on cycles for select to current_user using (true);
drop policy if exists stranded on alerts;
create policy stranded on alerts to current_user using (true);
drop policy if exists stranded on due_subjects;
create policy stranded on due_subjects to current_user using (true);

update alerts a
   set firing = false,
       state = a.state || jsonb_build_object('phase', 'resolved', 'since', floor(extract(epoch from c.closed_at) * 1000))
  from cycles c
 where c.tenant_id = a.tenant_id and c.key = a.scope and c.closed_at is not null
   and a.state ->> 'phase' in ('pending', 'firing', 'recovering');

insert into due_subjects as d (tenant_id, subject_kind, subject_id, due_at, seq)
select tenant_id, subject_kind, subject_id, evaluated_at, nextval('due_seq')
  from (select tenant_id, subject_kind, subject_id, min(evaluated_at) as evaluated_at from alerts
         where state ->> 'phase' in ('pending', 'firing', 'recovering') group by 1, 2, 3 order by 1, 2, 3) a
on conflict (tenant_id, subject_kind, subject_id) do update
  set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq;

drop policy stranded on due_subjects;
drop policy stranded on alerts;
drop policy stranded on cycles;
