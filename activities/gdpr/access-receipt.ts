import type { JobClaim } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { deleteIdentifiers, findShown } from '../../store/gdpr/archives.ts';
import { findRequesterName, insertReceipt } from '../../store/gdpr/receipts.ts';
import { listIdentifiers } from '../../store/gdpr/identifiers.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import { lockGdprRequest, treatRequest } from '../../store/gdpr/progress.ts';
import { listGdprPeople } from '../../store/gdpr/requests.ts';
import type { Dependencies } from '../dependencies.ts';
import { tellSubjects } from './receipt-subjects.ts';

/** Signs what was shown, forgets by what its people were known, and has the request treated, all at once. */
export async function finishAccess({ db, secrets, boundary }: Dependencies, claim: JobClaim): Promise<void> {
  await write(db, async (tx) => {
    const request = await lockGdprRequest(tx, claim);
    if (!request) return; // a repeat: it is treated
    const { entityId, id, identifier, round, source, receivedAt, requester } = request;
    const identifiers = await listIdentifiers(tx, entityId, id);
    await insertReceipt(
      tx,
      secrets,
      entityId,
      {
        type: 'access',
        request: identifier,
        round,
        source,
        requested_at: receivedAt.toISOString(),
        requested_by: { kind: requester.kind, id: await findRequesterName(tx, request) },
        subjects: await tellSubjects(tx, secrets, request, await listGdprPeople(tx, entityId, id), identifiers),
        ...(await findShown(tx, claim)),
      },
      hashesOf(secrets, entityId, identifiers),
    );
    await deleteIdentifiers(tx, claim);
    await treatRequest(tx, entityId, id);
    boundary('gdpr: before the receipt commits');
  });
  boundary('gdpr: after the receipt committed');
}
