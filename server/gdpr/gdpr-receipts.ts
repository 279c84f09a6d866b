/** The routes of signed receipts, by request and by person. */
import * as api from '../../api/gdpr/gdpr-receipts.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { listReceipts, listReceiptsOf } from '../../store/gdpr/receipts.ts';
import { findGdprRequest } from '../../store/gdpr/requests.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { personAsked } from './person-asked.ts';

const viewReceipts = route(api.listGdprReceipts, async ({ params: { request_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const receipts = await listReceipts(tx, entityId, request_id);
    if (receipts.length === 0) return refuseNone(tx, entityId, request_id);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'gdpr_receipt',
      subject: request_id,
      details: { receipts: receipts.length },
    });
    return { receipts };
  });
});

async function refuseNone(db: Queryable, entityId: number, requestId: string): Promise<never> {
  const request = await findGdprRequest(db, entityId, requestId);
  if (!request) return refuse(404, 'not_found', 'Request not found');
  if (request.state === 'declined')
    return refuse(404, 'not_found', 'Request was declined: nothing was done, and there is no receipt');
  // It waited for approval when its person was erased.
  return refuse(
    404,
    'not_found',
    request.state === 'treated'
      ? `Another request deleted the person before this one was approved: GET ${api.listReceiptsOfPerson.path}?user_id=… finds its receipt`
      : `Request is ${request.state}: there is a receipt once it is treated`,
  );
}

const listTheirs = route(api.listReceiptsOfPerson, async ({ query, ...who }, { db, secrets, settings }) => {
  const { entityId } = who.caller;
  const person =
    personAsked(query, 'ask for one of them') ??
    refuseField('user_id', 'is required, or device_id: whose receipts are asked for');
  const hash = secrets.customerHash(entityId, person.customerType, person.customerId);
  const { items, total } = await write(db, async (tx) => {
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_receipt', customerHash: hash });
    return listReceiptsOf(tx, entityId, [hash], rowsOf(query));
  });
  const asked = new URLSearchParams({ [person.customerType]: person.customerId });
  return showPage(settings, `${api.listReceiptsOfPerson.path}?${asked}`, query, total, items);
});

export const gdprReceiptRoutes: Route[] = [viewReceipts, listTheirs];
