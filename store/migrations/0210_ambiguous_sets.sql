-- Sets of a CSV export whose joined text gives other elements back; null: not counted, or of another type or format.
ALTER TABLE export_records ADD COLUMN ambiguous_sets bigint;
