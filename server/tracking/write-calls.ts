/** Writes the calls of requests: those of an entity that come at the same time share one transaction. */

import { isAway } from '../../domain/core/internal-error.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { RefusedCall } from '../../domain/tracking/call.ts';
import { holdEntity } from '../../store/accounts/entities.ts';
import { type Database, isTimedOut, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { ensurePartitions } from '../../store/tracking/event-partitions.ts';
import { deleteExcessCrashes } from '../../store/tracking/crashes.ts';
import { type CallOutcome, insertCalls, INSERT_CALLS, STORE_REFUSALS } from '../../store/tracking/insert-calls.ts';
import { insertNewDefinitions } from '../../store/tracking/event-definitions.ts';
import { insertNewAttributes } from '../../store/tracking/insert-traits.ts';
import type { AppCall } from '../../store/tracking/app-call.ts';
import { insertRefusedAppCalls, type RefusedAppCall } from '../../store/tracking/call-reports.ts';
import { microBatch } from '../http/micro-batch.ts';

export type CallRequest = { calls: AppCall[]; refused: RefusedAppCall[] };

export type RequestOutcome = {
  accepted: number;
  duplicates: number;
  /** The indexes of the duplicates. */
  repeated: number[];
  refused: RefusedCall[];
};

export type WriteCalls = (entityId: number, request: CallRequest) => Promise<RequestOutcome>;

type Outcome = PromiseSettledResult<RequestOutcome>;

/** Two transactions: one sends its rows while Postgres writes the other's to disk. */
const ROUNDS = 2;
const MAX_REQUESTS = 100;
/** More at once are no faster: they outlive V8's young generation, and answers come in bursts. */
const MAX_CALLS = 1_000;

export function callWriter(db: Database, secrets: Secrets): WriteCalls {
  const byEntity = new Map<number, (request: CallRequest) => Promise<Outcome>>();
  const ofEntity = (entityId: number) => {
    const known = byEntity.get(entityId);
    if (known) return known;
    const writeTogether = microBatch((requests: CallRequest[]) => writeAll(db, secrets, entityId, requests), {
      rounds: ROUNDS,
      calls: MAX_REQUESTS,
      weight: MAX_CALLS,
      weigh: ({ calls, refused }) => calls.length + refused.length,
      subject: firstDevice,
    });
    byEntity.set(entityId, writeTogether);
    return writeTogether;
  };
  return async (entityId, request) => {
    const outcome = await ofEntity(entityId)(request);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}

/** Returns the first call's device: a device's requests come one by one, and each locks its rows. */
function firstDevice({ calls: [first] }: CallRequest): string | null {
  return first === undefined ? null : (first.deviceId ?? first.userId);
}

/** Writes requests together, or each alone after an error of one. If the database is away, all fail at once. */
async function writeAll(db: Database, secrets: Secrets, entityId: number, requests: CallRequest[]): Promise<Outcome[]> {
  try {
    const calls = requests.flatMap((request) => request.calls);
    await ensurePartitions(
      db,
      calls.map(({ happenedAt }) => happenedAt),
    );
    await insertNewAttributes(db, secrets, entityId, calls);
    await insertNewDefinitions(db, secrets, entityId, calls);
    await deleteExcessCrashes(db, entityId, calls);
    const outcomes = await write(db, (tx) => insertAll(tx, secrets, entityId, calls, requests), INSERT_CALLS);
    return toRequestOutcomes(requests, outcomes).map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (requests.length === 1 || isAway(reason) || isTimedOut(reason))
      return requests.map(() => ({ status: 'rejected', reason }));
  }
  const outcomes: Outcome[] = [];
  for (const request of requests) outcomes.push(...(await writeAll(db, secrets, entityId, [request])));
  return outcomes;
}

async function insertAll(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: AppCall[],
  requests: CallRequest[],
): Promise<CallOutcome[]> {
  const held = (await holdEntity(tx, entityId)) ?? refuse(401, 'unauthorized', 'Invalid or missing write key');
  const outcomes = await insertCalls(tx, secrets, entityId, calls, held);
  await insertRefusedAppCalls(
    tx,
    secrets,
    entityId,
    requests.flatMap(({ refused }) => refused),
  );
  return outcomes;
}

function toRequestOutcomes(requests: CallRequest[], outcomes: CallOutcome[]): RequestOutcome[] {
  let at = 0;
  return requests.map(({ calls, refused }) => {
    const result: RequestOutcome = { accepted: 0, duplicates: 0, repeated: [], refused: [...refused] };
    for (const { index, messageId } of calls) {
      const outcome = outcomes[at]!;
      at += 1;
      if (outcome === 'accepted') result.accepted += 1;
      else if (outcome === 'duplicate') {
        result.duplicates += 1;
        result.repeated.push(index);
      } else result.refused.push({ index, messageId, code: outcome, message: STORE_REFUSALS[outcome] });
    }
    result.refused.sort((a, b) => a.index - b.index);
    return result;
  });
}
