import { z } from 'zod';
import { findNotifyEmails, lockSor, updateNotifyEmails } from '../../store/attributes/systems-of-records.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { email, identifier } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { findVisibleSor } from './sor-record.ts';

const MAX_ADDRESSES = 20;
const SHARED = { tag: 'Systems of Records', right: 'sor_manage' } as const;
const PATH = '/api/system_of_records/:sor_identifier/notify_emails';
const params = z.object({ sor_identifier: identifier });

const NotifyEmails = z.object({
  notify_emails: z.array(email).max(MAX_ADDRESSES, `must have at most ${MAX_ADDRESSES} addresses`),
});

const viewNotifyEmails = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'Get who is mailed about imports into a System of Records',
  params,
  result: NotifyEmails,
  async handle({ params: { sor_identifier }, caller, version }, { db }) {
    const sor = await findVisibleSor(db, caller.entityId, sor_identifier, version);
    return { notify_emails: await findNotifyEmails(db, caller.entityId, sor.id) };
  },
});

const changeNotifyEmails = route({
  ...SHARED,
  method: 'PUT',
  path: PATH,
  summary: 'Set who is mailed about imports into a System of Records; an empty list means its creator',
  params,
  body: NotifyEmails,
  result: NotifyEmails,
  async handle({ params: { sor_identifier }, body, version, ...who }, { db }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const sor = await findVisibleSor(tx, entityId, sor_identifier, version, lockSor);
      await updateNotifyEmails(tx, entityId, sor.id, body.notify_emails);
      const details = { notifyEmails: body.notify_emails.length };
      await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
      return { notify_emails: await findNotifyEmails(tx, entityId, sor.id) };
    });
  },
});

export const notifyEmailsRoutes: Route[] = [viewNotifyEmails, changeNotifyEmails];
