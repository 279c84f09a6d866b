import * as api from '../../api/attributes/systems-of-records.ts';
import { findNotifyEmails, lockSor, updateNotifyEmails } from '../../store/attributes/systems-of-records.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { findVisibleSor } from './sor-record.ts';

const viewNotifyEmails = route(api.viewNotifyEmails, async ({ params: { sor_identifier }, caller, version }, { db }) => {
  const sor = await findVisibleSor(db, caller.entityId, sor_identifier, version);
  return { notify_emails: await findNotifyEmails(db, caller.entityId, sor.id) };
});

const changeNotifyEmails = route(api.updateNotifyEmails, async ({ params: { sor_identifier }, body, version, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const sor = await findVisibleSor(tx, entityId, sor_identifier, version, lockSor);
    await updateNotifyEmails(tx, entityId, sor.id, body.notify_emails);
    const details = { notifyEmails: body.notify_emails.length };
    await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
    return { notify_emails: await findNotifyEmails(tx, entityId, sor.id) };
  });
});

export const notifyEmailsRoutes: Route[] = [viewNotifyEmails, changeNotifyEmails];
