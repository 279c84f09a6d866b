import type { GdprReceipt } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Tx } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { GdprIdentifier } from '../../store/gdpr/identifiers.ts';
import { forgetVia, type LeftHash, listLeftHashes } from '../../store/gdpr/shared-ids.ts';
import type { GdprPerson, GdprRequest } from '../../store/gdpr/request-record.ts';

type Subjects = GdprReceipt['subjects'];

/**
 * Returns for the receipt, by the keyed hash of each requested id, how many ids of each kind the person had, on whose
 * word these rest, and which were left alone. Deletes the ids that led to them.
 */
export async function tellSubjects(
  tx: Tx,
  secrets: Secrets,
  { entityId, id: requestId }: GdprRequest,
  people: GdprPerson[],
  identifiers: GdprIdentifier[],
): Promise<Subjects> {
  const some = { entityId, requestId, ordinals: people.map(({ ordinal }) => ordinal) };
  const own = Map.groupBy(identifiers, ({ ordinal }) => ordinal);
  const left = Map.groupBy(await listLeftHashes(tx, secrets, some), ({ ordinal }) => ordinal);
  await forgetVia(tx, some);
  return people.flatMap(({ ordinal, subject }) =>
    subject === null
      ? []
      : [
          {
            subject: subject.toString('hex'),
            ...countIds(own.get(ordinal) ?? []),
            left_alone: (left.get(ordinal) ?? []).map(withoutOrdinal),
          },
        ],
  );
}

function countIds(ids: GdprIdentifier[]): Pick<Subjects[number], 'identifiers' | 'origins'> {
  const identifiers = { user_id: 0, device_id: 0, push_token: 0 };
  const origins = { asked: 0, alias: 0, confirmed: 0, device: 0 };
  for (const { customerType, origin } of ids) {
    if (customerType === 'whole_device') continue; // it is counted as the device
    identifiers[customerType] += 1;
    origins[origin] += 1;
  }
  return { identifiers, origins };
}

function withoutOrdinal({ kind, subject, reason }: LeftHash) {
  return { kind, subject, reason };
}
