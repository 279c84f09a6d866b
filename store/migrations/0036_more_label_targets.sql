-- Funnels and segments bear labels, too.

alter table label_targets drop constraint label_targets_target_kind_check;
alter table label_targets add constraint label_targets_target_kind_check check (target_kind in ('event_definition', 'funnel', 'segment'));
