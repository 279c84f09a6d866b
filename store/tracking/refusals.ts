import type { RefusedCall } from '../../domain/tracking/tracked-call.ts';
import type { Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { insertRefusedCalls, type KeptRefusal } from './refused-calls.ts';

/** A refused call with what came, shortened, and all whom it may be of. */
export type RefusedWith = RefusedCall & { appId: number | null; raw: string; people: Person[] };

/** Notes down the refused calls of one or of several requests; of somebody who was erased without what came. */
export async function insertRefusals(tx: Tx, secrets: Secrets, entityId: number, refused: readonly RefusedWith[]): Promise<void> {
  if (refused.length === 0) return;
  const erased = await findErased(tx, secrets, entityId, () => refused.flatMap(({ people }) => people));
  const byApp = Map.groupBy(refused, ({ appId }) => appId);
  for (const [appId, own] of [...byApp].toSorted(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))) {
    await insertRefusedCalls(tx, entityId, appId, own.map((each) => toKept(each, erased)));
  }
}

function toKept({ index, messageId, code, message, raw, people }: RefusedWith, erased: ReadonlyMap<string, Buffer>): KeptRefusal {
  const person = people.find((each) => erased.has(personKey(each)));
  return person === undefined
    ? { index, messageId, code, message, raw, people }
    : { index, messageId: null, code, message, raw: null, customerHash: erased.get(personKey(person))! };
}
