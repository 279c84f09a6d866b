/** Accepts requests of the JSON feed, many in one transaction. */
import { type AuditEntry, insertAuditEntries } from '../../store/accounts/audit-log.ts';
import { findSorsByApiKeys, type ShownKey, type SorOfKey } from '../../store/attributes/systems-of-records.ts';
import { type Database, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { insertFeedRequests, type NewFeedRequest } from '../../store/feed/feed-requests.ts';
import { microBatch } from '../http/micro-batch.ts';

type Intake = {
  entityId: number;
  request: NewFeedRequest;
  entry: Omit<AuditEntry, 'subject'>;
  answer(tx: Tx, requestId: string): Promise<unknown>;
};

type Outcome = PromiseSettledResult<unknown>;

export type FeedIntake = {
  findSor(shown: ShownKey): Promise<SorOfKey | null>;
  accept(intake: Intake): Promise<unknown>;
};

/** Two: one sends its rows while the other is written to disk. */
const ROUNDS = 2;
const MAX_CALLS = 200;
const MAX_BYTES = 16 * 1024 ** 2;

/** Accepts requests. Concurrent ones share one transaction's round trips and commit. */
export function feedIntake(db: Database, secrets: Secrets): FeedIntake {
  const acceptTogether = microBatch((intakes: Intake[]) => acceptOfEach(db, intakes), {
    rounds: ROUNDS,
    calls: MAX_CALLS,
    weight: MAX_BYTES,
    weigh: ({ request }) => request.body.length,
  });
  return {
    findSor: microBatch((shown: ShownKey[]) => findSorsByApiKeys(db, secrets, shown), {
      rounds: ROUNDS,
      calls: MAX_CALLS,
      weight: MAX_CALLS,
      weigh: () => 1,
    }),
    async accept(intake) {
      const outcome = await acceptTogether(intake);
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
  };
}

async function acceptOfEach(db: Database, intakes: Intake[]): Promise<Outcome[]> {
  const outcomes = new Map<Intake, Outcome>();
  for (const [entityId, own] of Map.groupBy(intakes, (intake) => intake.entityId)) {
    const settled = await acceptAll(db, entityId, own);
    for (const [index, intake] of own.entries()) outcomes.set(intake, settled[index]!);
  }
  return intakes.map((intake) => outcomes.get(intake)!);
}

/** Accepts all in one transaction; if that fails, each in its own. */
async function acceptAll(db: Database, entityId: number, intakes: Intake[]): Promise<Outcome[]> {
  try {
    const answers = await write(db, (tx) => insertAll(tx, entityId, intakes));
    return answers.map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (intakes.length === 1) return [{ status: 'rejected', reason }];
  }
  const outcomes: Outcome[] = [];
  for (const intake of intakes) outcomes.push(...(await acceptAll(db, entityId, [intake])));
  return outcomes;
}

async function insertAll(tx: Tx, entityId: number, intakes: Intake[]): Promise<unknown[]> {
  const requestIds = await insertFeedRequests(
    tx,
    entityId,
    intakes.map(({ request }) => request),
  );
  await insertAuditEntries(
    tx,
    entityId,
    intakes.map(({ entry }, index) => ({ ...entry, subject: requestIds[index]! })),
  );
  const answers: unknown[] = [];
  for (const [index, { answer }] of intakes.entries()) answers.push(await answer(tx, requestIds[index]!));
  return answers;
}
