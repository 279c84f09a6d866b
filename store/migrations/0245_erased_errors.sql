-- Whether a refused row was an erased person's: its text said so, which a source's own message may say as well.

alter table import_errors add column is_erased boolean not null default false;
update import_errors set is_erased = true
  where customer_hash is not null or message = 'erased' and customer_id is null and coalesce(raw, '') = '';

drop index import_errors_settled;
create index import_errors_settled on import_errors (entity_id, import_id) where redriven_by is not null or is_erased;

-- Batches under way: what stands there for an erased person's record.
update sync_pinned_batches
  set items = replace(items, '{"kind":"malformed","raw":"","message":"erased"}',
    '{"kind":"malformed","raw":"","message":"erased","isErased":true}')
  where items like '%{"kind":"malformed","raw":"","message":"erased"}%';
