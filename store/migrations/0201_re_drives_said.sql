-- When the values of a re-drive count as said: when the import at the beginning of the chain was accepted. Null: received_at.
alter table imports add column said_at timestamptz;
