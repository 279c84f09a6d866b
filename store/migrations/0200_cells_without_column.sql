-- Filled cells of tables in columns without a name: they are in no count of rows, and are not read.
alter table import_lanes add column cells_unnamed bigint not null default 0;

-- An error of a whole line has no column: also one of a wrong customer id, which had that of the customer.
update import_errors e set column_number = 0
from imports i
where i.entity_id = e.entity_id and i.id = e.import_id and i.column_mapping is not null
  and e.error_type = 'INVALID_CUSTOMER_ID' and e.customer_hash is null and e.attribute_key is null
  and e.column_number = (i.table_layout ->> 'customer')::integer;
