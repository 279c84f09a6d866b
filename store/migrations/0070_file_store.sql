-- The file store that belongs to this database, by the id in its marker: store/core/file-store-marker.ts.
CREATE TABLE file_store (
  id text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX file_store_one ON file_store ((true));
