-- What a source tells of its fields while it is read may differ from what it told before, each time alike.

alter table syncs add column read_fields jsonb;     -- those that it told of by the last readings; null: no reading has told of any
