-- Settings for what a bucket may want of uploads and deletes: the header x-amz-server-side-encryption, with its key, and Content-MD5.
ALTER TABLE data_exporters
  ADD COLUMN server_side_encryption text CHECK (server_side_encryption IN ('AES256', 'aws:kms')),
  ADD COLUMN kms_key_id text,
  ADD COLUMN content_md5 boolean NOT NULL DEFAULT false,
  ADD CHECK (kms_key_id IS NULL OR server_side_encryption = 'aws:kms');
