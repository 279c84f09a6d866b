import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findOlderWritersMs } from '../../store/core/open-window.ts';
import { findNow } from '../../store/gdpr/receipts.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import { beginErasing, holdGdprRequest, updateStage } from '../../store/gdpr/progress.ts';
import {
  type Hashed,
  listMissingTombstones,
  listNotErased,
  listRaised,
  lockBatches,
  raiseTombstones,
  readmit,
  updateRaised,
} from '../../store/gdpr/tombstone-batches.ts';
import { listGdprPeople } from '../../store/gdpr/requests.ts';
import { listIdsToRefuse } from '../../store/gdpr/shared-ids.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { gatherKnown } from './gather-known.ts';
import { type Counted, setApart } from './held.ts';

export type Gathered = Counted & { added: number };

/** Gathers what the people are known by, and sets those apart who are on hold. */
export async function gatherPeople(deps: Dependencies, claim: JobClaim): Promise<Gathered> {
  const { added } = await gatherKnown(deps, claim);
  const { going, held } = await sortOut(deps, claim, false);
  return { going, held, added };
}

/** From here on nothing of them is taken in. When that was, by the database's clock. */
export async function refusePeople(deps: Dependencies, claim: JobClaim): Promise<{ sinceMs: number }> {
  const { db } = deps;
  const { entityId, jobId } = claim;
  await updateStage(db, claim, 'raising tombstones');
  const people = hashed(deps, entityId, await listIdsToRefuse(db, entityId, jobId));
  await raiseTombstones(
    deps,
    entityId,
    people.map(({ hash }) => hash),
    (tx, raised) => updateRaised(tx, claim, people, raised),
  );
  deps.boundary('gdpr: raised');
  return { sinceMs: (await findNow(db)).getTime() };
}

/** Null once nobody writes any more who had looked for tombstones before they were there; else when to look again. */
export async function waitForOlderWriters(
  { db }: Dependencies,
  claim: JobClaim,
  sinceMs: number,
): Promise<RetryAfter | null> {
  if (!(await isJobCurrent(db, 'delete', claim))) throw new JobGone();
  // A writer that begins within this millisecond has looked after it, or is waited for, too.
  const openMs = await findOlderWritersMs(db, new Date(sinceMs + 1));
  return openMs > 0 ? { againInMs: openMs } : null;
}

/**
 * The last look for holds: from here on one comes too late for those who go. Null where a tombstone of theirs does not
 * stand any more, since another request took it away for somebody on hold, or a device is theirs alone again: then
 * nothing has begun.
 */
export async function beginErasingPeople(deps: Dependencies, claim: JobClaim): Promise<Counted | null> {
  const { isMissing, ...counted } = await sortOut(deps, claim, true);
  deps.boundary('gdpr: erasing begun');
  return isMissing ? null : counted;
}

/** `isMissing`: a tombstone of theirs does not stand, which is looked at where erasing `begins`. */
type Sorted = Counted & { isMissing: boolean };

async function sortOut(deps: Dependencies, claim: JobClaim, begins: boolean): Promise<Sorted> {
  const letIn = new Set<string>();
  for (;;) {
    const { refused, ...sorted } = await write(deps.db, (tx) => sortOnce(tx, deps, claim, { begins, letIn }));
    if (sorted.held > 0 || refused.length > 0) await takeInAgain(deps, claim, refused);
    if (refused.length === 0) return sorted;
    for (const { customerId } of refused) letIn.add(customerId);
  }
}

async function sortOnce(
  tx: Tx,
  deps: Dependencies,
  claim: JobClaim,
  { begins, letIn }: { begins: boolean; letIn: ReadonlySet<string> },
): Promise<Sorted & { refused: Person[] }> {
  const { entityId, jobId } = claim;
  // Releases of tombstones lock the tombstones first, then the requests.
  if (begins) await lockBatches(tx, entityId);
  const request = await holdGdprRequest(tx, claim);
  const counted = await setApart(tx, claim, letIn);
  if (!begins || counted.refused.length > 0) return { ...counted, isMissing: false };
  const hashes = hashesOf(deps.secrets, entityId, await listIdsToRefuse(tx, entityId, jobId));
  const isMissing = (await listMissingTombstones(tx, entityId, hashes)).length > 0;
  if (!isMissing) await beginErasing(tx, request);
  return { ...counted, isMissing };
}

/**
 * Who was put on hold after this request had raised their tombstones, and before anything of them was gone; and devices
 * that turned out to be somebody else's, too. Nobody whom another request has erased since, or is erasing.
 */
async function takeInAgain(deps: Dependencies, claim: JobClaim, devices: readonly Person[]): Promise<void> {
  const { entityId, jobId } = claim;
  const held = (await listGdprPeople(deps.db, entityId, jobId))
    .filter(({ state }) => state === 'held')
    .map(({ ordinal }) => ordinal);
  const raised = hashed(deps, entityId, [...(await listRaised(deps.db, claim, held)), ...devices]);
  if (raised.length === 0) return;
  await readmit(
    deps,
    entityId,
    raised.map(({ hash }) => hash),
    async () => {},
    (tx) => listNotErased(tx, claim, raised),
  );
}

function hashed(deps: Dependencies, entityId: number, people: readonly Person[]): Hashed[] {
  return people.map((person) => ({
    ...person,
    hash: deps.secrets.customerHash(entityId, person.customerType, person.customerId),
  }));
}
