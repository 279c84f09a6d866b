/** Steps of `refreshSegments`: find the members of segments whose refresh is due. */

import { Context } from '@temporalio/activity';
import { internalErrorOf, isAway } from '../../domain/core/internal-error.ts';
import { insertChanges, updatePeopleOfDay } from '../../store/analytics/segment-changes.ts';
import {
  deleteMembers,
  insertMembers,
  listErasedPeople,
  listMovedMembers,
  replaceMembers,
} from '../../store/analytics/segment-members.ts';
import {
  claimDueSegment,
  endRefresh,
  failRefresh,
  listPeople,
  lockRefresh,
  type RefreshClaim,
  REFRESH_TIMEOUT_MS,
} from '../../store/analytics/segment-refresh.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { countMembers } from '../../store/analytics/segment-counts.ts';
import type { SegmentQuery } from '../../store/analytics/segment-sql.ts';
import { findSegment, type Segment } from '../../store/analytics/segments.ts';
import { isQueryCanceled, isTimedOut, type Tx, write } from '../../store/core/database.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';

export type RefreshSegmentsSteps = ReturnType<typeof refreshSegmentsSteps>;

/** Maximum number of people that a transaction compares, far from its time limit. */
const PORTION = 10_000;
const TOO_LONG = `Its people take longer to find than ${REFRESH_TIMEOUT_MS / 1_000} seconds: use fewer filters, or shorter periods`;

/** Ends this refresh: another has begun, or the segment is deleted. */
class RefreshOver extends Error {
  override readonly name = 'RefreshOver';
}

export const refreshSegmentsSteps = (deps: Dependencies) => ({
  /** Finds the members of the segment whose refresh has been due longest, if any. A repeat after a kill starts over. */
  refreshSegment: (entityId: number): Promise<{ isIdle: boolean }> =>
    heartbeating(() => inSlot(deps.takeAudienceSlot, entityId, () => refreshNext(deps, entityId))),
});

async function refreshNext(deps: Dependencies, entityId: number): Promise<{ isIdle: boolean }> {
  const claim = await claimDueSegment(deps.db, entityId);
  if (claim === null) return { isIdle: true };
  deps.boundary('segments: claimed');
  await refresh(deps, entityId, claim);
  return { isIdle: false };
}

async function refresh(deps: Dependencies, entityId: number, claim: RefreshClaim): Promise<void> {
  const segment = await findSegment(deps.db, entityId, claim.id);
  if (segment?.generation !== claim.generation) return;
  const now = new Date();
  try {
    if (segment.filters === null) await replaceDevices(deps, entityId, claim, segment);
    else {
      const failure = await replaceAllMembers(deps, entityId, claim, segment, now);
      if (failure !== null) return await failRefresh(deps.db, entityId, claim, failure);
    }
    const counts = await countMembers(deps.db, entityId, segment, REFRESH_TIMEOUT_MS);
    deps.boundary('segments: counted');
    await whileOurs(deps, entityId, claim, async (tx) => {
      await endRefresh(tx, entityId, claim, counts, now);
      await updatePeopleOfDay(tx, entityId, { segmentId: claim.id, at: now }, counts.peopleCount);
    });
  } catch (error) {
    if (error instanceof RefreshOver) return;
    if (isQueryCanceled(error)) return failRefresh(deps.db, entityId, claim, TOO_LONG);
    if (
      !isAway(error) &&
      !isTimedOut(error) &&
      !deps.draining.aborted &&
      !Context.current().cancellationSignal.aborted
    ) {
      const { errorClass, code = errorClass } = internalErrorOf(error);
      await failRefresh(deps.db, entityId, claim, `An error in Millrace (${code}): it is tried again`);
    }
    throw error;
  }
}

/** Replaces devices of a list that have a user by now with that user. */
async function replaceDevices(
  deps: Dependencies,
  entityId: number,
  claim: RefreshClaim,
  segment: Segment,
): Promise<void> {
  for (let moved = PORTION; moved === PORTION;) {
    deps.draining.throwIfAborted();
    await whileOurs(deps, entityId, claim, async (tx) => {
      const members = await listMovedMembers(tx, entityId, segment, PORTION);
      moved = members.length;
      const people = [...new Set(members.map(({ person }) => person))].toSorted();
      const erased = await listErasedPeople(tx, deps.secrets, entityId, people);
      await insertMembers(
        tx,
        entityId,
        segment.id,
        people.filter((person) => !erased.has(person)),
      );
      await deleteMembers(
        tx,
        entityId,
        segment.id,
        members.map(({ member }) => member),
      );
    });
  }
}

/** Replaces all members, or returns why it failed. */
async function replaceAllMembers(
  deps: Dependencies,
  entityId: number,
  claim: RefreshClaim,
  segment: Segment,
  now: Date,
): Promise<string | null> {
  const { appId, filters, snapshotAt } = segment;
  const {
    errors: [error],
    query,
    segments,
    failure,
  } = await resolveFilters(deps.db, entityId, { appId, filters: filters!, now, isStored: true });
  if (error) return `${error.element}: ${error.message}`;
  if (failure !== null) return failure;
  const waited = segments.find(({ snapshotAt }) => snapshotAt === null);
  if (waited) return `The segment "${waited.name}", which its filters name, has no members yet`;
  // The first people of new filters did not join: they are no change.
  await replacePortions(deps, entityId, claim, { query: query!, at: snapshotAt === null ? null : now });
  return null;
}

/** Replaces members in portions; unchanged ones are not written. */
async function replacePortions(
  deps: Dependencies,
  entityId: number,
  claim: RefreshClaim,
  { query, at }: { query: SegmentQuery; at: Date | null },
): Promise<void> {
  const replace = async (people: readonly string[], after: string | null, upTo: string | null) => {
    deps.draining.throwIfAborted();
    await whileOurs(deps, entityId, claim, async (tx) => {
      const erased = await listErasedPeople(tx, deps.secrets, entityId, people);
      const living = erased.size === 0 ? people : people.filter((person) => !erased.has(person));
      const changes = await replaceMembers(tx, entityId, claim.id, living, { after, upTo });
      if (at !== null) await insertChanges(tx, deps.secrets, entityId, { segmentId: claim.id, at }, changes);
      deps.boundary('segments: before a portion commits');
    });
    deps.boundary('segments: after a portion committed');
  };
  let after: string | null = null;
  for await (const people of listPeople(deps.db, entityId, query, Math.min(deps.batchRecords, PORTION))) {
    const upTo: string = people.at(-1)!;
    await replace(people, after, upTo);
    after = upTo;
  }
  await replace([], after, null);
}

async function whileOurs(
  { db }: Dependencies,
  entityId: number,
  claim: RefreshClaim,
  work: (tx: Tx) => Promise<void>,
): Promise<void> {
  await write(db, async (tx) => {
    if (!(await lockRefresh(tx, entityId, claim))) throw new RefreshOver();
    await work(tx);
  });
}
