/** The steps that sign the receipt of a request and end its round, in one transaction. */
import type { GdprReceipt, NewReceipt } from '../../domain/gdpr/gdpr-receipt.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { deleteIdentifiers, findShown } from '../../store/gdpr/archives.ts';
import { listCopies } from '../../store/gdpr/copies.ts';
import { type GdprIdentifier, listIdentifiers } from '../../store/gdpr/identifiers.ts';
import { recordKeptValues } from '../../store/analytics/filters-of-people.ts';
import { deleteGoneUnreadableMails } from '../../store/gdpr/kept-values.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import { erasingLocations } from '../../store/gdpr/personal-data-registry.ts';
import { endRound, lockGdprRequest, treatRequest } from '../../store/gdpr/progress.ts';
import { findNow } from '../../store/core/open-window.ts';
import { findRequesterName, insertReceipt } from '../../store/gdpr/receipts.ts';
import type { GdprPerson, GdprRequest } from '../../store/gdpr/request-record.ts';
import { findGdprRequestById, listGdprPeople } from '../../store/gdpr/requests.ts';
import { type LeftHash, takeLeftHashes } from '../../store/gdpr/shared-ids.ts';
import { findRaisedAt } from '../../store/gdpr/tombstones.ts';
import type { Dependencies } from '../dependencies.ts';
import { listPending } from './request-steps.ts';

/**
 * Signs what this round erased, and marks its people as treated, in one transaction; the last round ends the request.
 * Returns whether the request is treated, also if the round had ended before.
 */
export async function writeReceipt(deps: Dependencies, claim: JobClaim): Promise<{ isTreated: boolean }> {
  await deleteGoneUnreadableMails(deps.db, deps.files);
  await write(deps.db, async (tx) => {
    const request = await lockGdprRequest(tx, claim);
    const { people, identifiers } = await listPending(tx, claim);
    if (!request || people.length === 0) return;
    const hashes = hashesOf(deps.secrets, request.entityId, identifiers);
    const subjects = await subjectsOf(tx, deps.secrets, request, people, identifiers);
    const keptValues = await recordKeptValues(tx, request, identifiers);
    const told = { ...(await erasureOf(tx, request, { hashes, subjects })), kept_values: keptValues };
    const { isLast } = await endRound(tx, request);
    if (isLast) await treatRequest(tx, request.entityId, request.id);
    await insertReceipt(tx, deps.secrets, request.entityId, { ...told, kept: await listKept(tx, request) }, hashes);
    deps.boundary('gdpr: before the receipt commits');
  });
  deps.boundary('gdpr: after the receipt committed');
  const now = await findGdprRequestById(deps.db, claim.entityId, claim.jobId);
  return { isTreated: now?.state === 'treated' };
}

type Erasure = Extract<NewReceipt, { type: 'erasure' }>;

async function erasureOf(
  tx: Tx,
  request: GdprRequest,
  { hashes, subjects }: { hashes: Buffer[]; subjects: Erasure['subjects'] },
): Promise<Omit<Erasure, 'kept'>> {
  const { entityId, identifier, round, source, receivedAt, requester, erased, survivors } = request;
  const since = (await findRaisedAt(tx, entityId, hashes)) ?? (await findNow(tx));
  return {
    type: 'erasure',
    request: identifier,
    round,
    source,
    requested_at: receivedAt.toISOString(),
    requested_by: { kind: requester.kind, id: await findRequesterName(tx, request) },
    subjects,
    tombstones_at: since.toISOString(),
    places: erasingLocations.map(({ name }) => ({
      place: name,
      erased: erased[name] ?? 0,
      survivors: survivors[name] ?? 0,
    })),
    copies: await listCopies(tx, { entityId, requestIdentifier: identifier, round }),
  };
}

async function listKept(tx: Tx, { entityId, id }: GdprRequest): Promise<Erasure['kept']> {
  const now = await findGdprRequestById(tx, entityId, id);
  return [
    { place: 'tombstones', why: 'a keyed hash, so that nothing of them is taken in again', until: null },
    { place: 'gdpr_receipts', why: 'this receipt, by a keyed hash', until: null },
    { place: 'audit_log', why: 'who did what, of people a keyed hash', until: null },
    {
      place: 'gdpr_requests',
      why: 'the requested ids, so that the status of the request can be read',
      until: now?.expiresAt?.toISOString() ?? null,
    },
    {
      place: 'files/',
      until: null,
      why: "exports built once the tables were erased, each for seven days: what lists show, with what others' events say of an erased id",
    },
    { place: 'backups', why: 'copies made before; people who come back with one are erased again', until: null },
  ];
}

/** Signs what the archives show, deletes the ids of the people and ends the request, in one transaction. */
export async function writeAccessReceipt({ db, secrets, boundary }: Dependencies, claim: JobClaim): Promise<void> {
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
        subjects: await subjectsOf(tx, secrets, request, await listGdprPeople(tx, entityId, id), identifiers),
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

type Subjects = GdprReceipt['subjects'];

/** Returns each person's hash, ids by kind and voucher, and ids left alone, whose origins it forgets. */
async function subjectsOf(
  tx: Tx,
  secrets: Secrets,
  { entityId, id: requestId }: GdprRequest,
  people: GdprPerson[],
  identifiers: GdprIdentifier[],
): Promise<Subjects> {
  const some = { entityId, requestId, ordinals: people.map(({ ordinal }) => ordinal) };
  const own = Map.groupBy(identifiers, ({ ordinal }) => ordinal);
  const left = Map.groupBy(await takeLeftHashes(tx, secrets, some), ({ ordinal }) => ordinal);
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
