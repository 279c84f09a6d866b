-- One mail of an app, its digest, tells of several unvouched requests: each of their rows names the row that is mailed.
alter table gdpr_mails add column digest_id bigint;
alter table gdpr_mails add foreign key (entity_id, digest_id) references gdpr_mails on delete set null (digest_id);
create index gdpr_mails_by_digest on gdpr_mails (entity_id, digest_id) where digest_id is not null;
