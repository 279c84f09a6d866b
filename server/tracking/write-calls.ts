import { isAway } from '../../domain/core/internal-error.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { RefusedCall } from '../../domain/tracking/call.ts';
import { holdEntity } from '../../store/accounts/entities.ts';
import { type Database, isTimedOut, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { ensurePartitions } from '../../store/tracking/event-partitions.ts';
import { deleteExcessCrashes } from '../../store/tracking/crashes.ts';
import { type CallOutcome, ingestCalls, INGESTING, STORE_REFUSALS } from '../../store/tracking/insert-calls.ts';
import { insertNewDefinitions } from '../../store/tracking/event-definitions.ts';
import { insertNewAttributes } from '../../store/tracking/insert-traits.ts';
import type { IngestedCall } from '../../store/tracking/app-call.ts';
import { insertRefusals } from '../../store/tracking/refused-calls.ts';
import { microBatch } from '../http/micro-batch.ts';
import type { TrackedRequest } from './read-calls.ts';

/** What became of a request's calls; the refused ones in the order of their index. */
export type TakenIn = {
  accepted: number;
  duplicates: number;
  /** The indexes of the duplicates. */
  repeated: number[];
  refused: RefusedCall[];
};

/** Takes calls in: settles once they are committed. */
export type TrackingIntake = (entityId: number, intake: TrackedRequest) => Promise<TakenIn>;

type Outcome = PromiseSettledResult<TakenIn>;

/** Two, so that one's rows are sent while the other one's are written to disk. */
const ROUNDS = 2;
const MAX_REQUESTS = 100;
/** More at once are no faster: they outlive V8's young generation, and answers come in bursts. */
const MAX_CALLS = 1_000;

/**
 * Requests of an entity that come at the same time share the statements and the commit of one transaction. No entity
 * waits for another one's.
 */
export function trackingIntake(db: Database, secrets: Secrets): TrackingIntake {
  const byEntity = new Map<number, (intake: TrackedRequest) => Promise<Outcome>>();
  const ofEntity = (entityId: number) => {
    const known = byEntity.get(entityId);
    if (known) return known;
    const takeTogether = microBatch((intakes: TrackedRequest[]) => takeAll(db, secrets, entityId, intakes), {
      rounds: ROUNDS,
      calls: MAX_REQUESTS,
      weight: MAX_CALLS,
      weigh: ({ calls, refused }) => calls.length + refused.length,
      subject: firstDevice,
    });
    byEntity.set(entityId, takeTogether);
    return takeTogether;
  };
  return async (entityId, intake) => {
    const outcome = await ofEntity(entityId)(intake);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}

/** Batches of one device come one after another, and each locks what that device has. */
function firstDevice({ calls: [first] }: TrackedRequest): string | null {
  return first === undefined ? null : (first.deviceId ?? first.userId);
}

/**
 * In one transaction; where that fails for what may be caused by one, each in its own. Where the database is away or
 * too slow all fail at once: each in turn would wait as long, and what was committed unheard would be taken in twice.
 */
async function takeAll(
  db: Database,
  secrets: Secrets,
  entityId: number,
  intakes: TrackedRequest[],
): Promise<Outcome[]> {
  try {
    const calls = intakes.flatMap((intake) => intake.calls);
    await ensurePartitions(
      db,
      calls.map(({ happenedAt }) => happenedAt),
    );
    await insertNewAttributes(db, secrets, entityId, calls);
    await insertNewDefinitions(db, secrets, entityId, calls);
    await deleteExcessCrashes(db, entityId, calls);
    const outcomes = await write(db, (tx) => insertAll(tx, secrets, entityId, calls, intakes), INGESTING);
    return toTakenIn(intakes, outcomes).map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (intakes.length === 1 || isAway(reason) || isTimedOut(reason))
      return intakes.map(() => ({ status: 'rejected', reason }));
  }
  const outcomes: Outcome[] = [];
  for (const intake of intakes) outcomes.push(...(await takeAll(db, secrets, entityId, [intake])));
  return outcomes;
}

async function insertAll(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: IngestedCall[],
  intakes: TrackedRequest[],
): Promise<CallOutcome[]> {
  const held = (await holdEntity(tx, entityId)) ?? refuse(401, 'unauthorized', 'Invalid or missing write key');
  const outcomes = await ingestCalls(tx, secrets, entityId, calls, held);
  await insertRefusals(
    tx,
    secrets,
    entityId,
    intakes.flatMap(({ refused }) => refused),
  );
  return outcomes;
}

/** `outcomes` are those of all calls of all intakes, in their order. */
function toTakenIn(intakes: TrackedRequest[], outcomes: CallOutcome[]): TakenIn[] {
  let at = 0;
  return intakes.map(({ calls, refused }) => {
    const taken: TakenIn = { accepted: 0, duplicates: 0, repeated: [], refused: [...refused] };
    for (const { index, messageId } of calls) {
      const outcome = outcomes[at]!;
      at += 1;
      if (outcome === 'accepted') taken.accepted += 1;
      else if (outcome === 'duplicate') {
        taken.duplicates += 1;
        taken.repeated.push(index);
      } else taken.refused.push({ index, messageId, code: outcome, message: STORE_REFUSALS[outcome] });
    }
    taken.refused.sort((a, b) => a.index - b.index);
    return taken;
  });
}
