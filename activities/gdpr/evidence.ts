import { Context } from '@temporalio/activity';
import type { NewReceipt } from '../../domain/gdpr/gdpr-receipt.ts';
import { TELLING_EXPORTERS } from '../../domain/gdpr/request-fault.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { listCopies } from '../../store/gdpr/copies.ts';
import { findNow, findRequesterName, insertReceipt } from '../../store/gdpr/receipts.ts';
import { insertDeletionLists, listExportersThatWait } from '../../store/gdpr/export-deletions.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import { erasingLocations } from '../../store/gdpr/personal-data-registry.ts';
import {
  endRound,
  holdGdprRequest,
  lockGdprRequest,
  treatRequest,
  updateGdprError,
  updateStage,
} from '../../store/gdpr/progress.ts';
import { recordKeptValues } from '../../store/gdpr/kept-values.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { findGdprRequestById } from '../../store/gdpr/requests.ts';
import { findRaisedAt } from '../../store/gdpr/tombstones.ts';
import { deleteGoneUnreadableMails } from '../../store/gdpr/unreadable-mails.ts';
import { listRunsOfFailed } from '../../store/sends/sends.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { cancelSend } from '../../temporal/flows.ts';
import { listPendingIdentifiers, listPendingPeople } from './pending-people.ts';
import { tellSubjects } from './receipt-subjects.ts';
import { type TellDependencies, tellExporters } from './tell-exporters.ts';

/** Writes down whom exporters are to be told of, while it is known. */
export async function listForExporters(deps: Dependencies, claim: JobClaim): Promise<void> {
  await updateStage(deps.db, claim, TELLING_EXPORTERS);
  const people = await listPendingIdentifiers(deps.db, claim);
  await write(deps.db, async (tx) => {
    const { entityId, identifier: requestIdentifier, round } = await holdGdprRequest(tx, claim);
    await insertDeletionLists(tx, deps, { entityId, requestIdentifier, round, erasedAt: await findNow(tx) }, people);
  });
  deps.boundary('gdpr: lists recorded');
  // The erasure may have failed campaigns by their filters.
  for (const run of await listRunsOfFailed(deps.db, claim.entityId)) await cancelSend(deps.temporal, run);
}

/**
 * Returns null once each exporter's bucket has its list, or was given up; otherwise when to try again. The request says
 * meanwhile which buckets did not take it, and why.
 */
export async function tellExportersOf(
  deps: TellDependencies,
  claim: JobClaim,
  signal = Context.current().cancellationSignal,
): Promise<RetryAfter | null> {
  const { entityId, identifier: requestIdentifier, round } = await write(deps.db, (tx) => holdGdprRequest(tx, claim));
  const wait = await tellExporters(deps, { entityId, requestIdentifier, round }, signal);
  const faults = await listExportersThatWait(deps.db, { entityId, requestIdentifier, round });
  if (faults.length === 0) await updateStage(deps.db, claim, TELLING_EXPORTERS);
  else await updateGdprError(deps.db, claim, faults.map(sayWaits).join('; '));
  return wait;
}

const sayWaits = ({ exporter, fault }: { exporter: string; fault: string }) =>
  `the bucket of exporter ${exporter} did not take the list of people to delete: ${fault}`;

/**
 * Signs what was done in this round, forgets by what its people were known, and has them treated, all at once; with the
 * last of them the request is. Tells whether it is; of a round that has ended already, too.
 */
export async function finishRound(deps: Dependencies, claim: JobClaim): Promise<{ isTreated: boolean }> {
  await deleteGoneUnreadableMails(deps.db, deps.files);
  await write(deps.db, async (tx) => {
    const request = await lockGdprRequest(tx, claim);
    const people = request ? await listPendingPeople(tx, claim) : [];
    if (!request || people.length === 0) return;
    const identifiers = await listPendingIdentifiers(tx, claim);
    const hashes = hashesOf(deps.secrets, request.entityId, identifiers);
    const subjects = await tellSubjects(tx, deps.secrets, request, people, identifiers);
    const keptValues = await recordKeptValues(tx, request, identifiers);
    const told = { ...(await tellOfRound(tx, request, { hashes, subjects })), kept_values: keptValues };
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

async function tellOfRound(
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
      why: 'whom the request asked for, so that its status can be read',
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
