/** The route that readmits erased people: Millrace accepts their data again. */
import * as api from '../../api/gdpr/gdpr-readmission.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { lockOpenDeletions, type OpenDeletion } from '../../store/gdpr/holds.ts';
import { readmit } from '../../store/gdpr/tombstone-batches.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { auditEach } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';

const MAX_NAMED = 5;

const readmitPeople = route(api.readmitPeople, async ({ body, keepReply, ...who }, { db, files, secrets }) => {
  const { entityId } = who.caller;
  const people = peopleOf(body);
  if (people.length === 0) refuseField('users', 'is required, or devices: the ids to be taken in again');
  const hashes = people.map(({ customerType, customerId: id }) => secrets.customerHash(entityId, customerType, id));
  let answer = { readmitted: 0, unknown: people.length };
  await readmit({ db, files }, entityId, hashes, async (tx, readmitted) => {
    refuseWhileDeleted(await lockOpenDeletions(tx, entityId, people, { states: ['pending', 'held'], ids: 'own' }));
    await auditEach(
      tx,
      who,
      readmitted.map((customerHash) => ({ action: 'readmit', subjectKind: 'customer', customerHash })),
    );
    answer = await keepReply(tx, { readmitted: readmitted.length, unknown: people.length - readmitted.length });
  });
  return answer;
});

function peopleOf({
  users = [],
  devices = [],
}: {
  users?: string[] | undefined;
  devices?: string[] | undefined;
}): Person[] {
  return [
    ...Array.from(new Set(users), (id): Person => ({ customerType: 'user_id', customerId: id })),
    ...Array.from(new Set(devices), (id): Person => ({ customerType: 'device_id', customerId: id })),
  ];
}

function refuseWhileDeleted(open: readonly OpenDeletion[]): void {
  if (open.length === 0) return;
  const named = open
    .slice(0, MAX_NAMED)
    .map(({ identifier }) => identifier)
    .join(', ');
  refuse(409, 'conflict', `Some of them are being deleted by ${named}: readmit them once it is treated`);
}

export const gdprReadmissionRoutes: Route[] = [readmitPeople];
