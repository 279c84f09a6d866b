-- A mail that was written into a file, since there is no mail server, was not sent.
alter table imports
  drop constraint imports_mail_state_check,
  add constraint imports_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
alter table sync_runs
  drop constraint sync_runs_mail_state_check,
  add constraint sync_runs_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
alter table export_runs
  drop constraint export_runs_mail_state_check,
  add constraint export_runs_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
alter table gdpr_mails
  drop constraint gdpr_mails_mail_state_check,
  add constraint gdpr_mails_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
alter table invitations
  drop constraint invitations_mail_state_check,
  add constraint invitations_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
alter table password_resets
  drop constraint password_resets_mail_state_check,
  add constraint password_resets_mail_state_check check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown'));
