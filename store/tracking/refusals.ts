import { ERASED } from '../../domain/core/erased.ts';
import type { RefusedCall } from '../../domain/tracking/tracked-call.ts';
import type { Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { insertRefusedCalls, type KeptRefusal } from './refused-calls.ts';

/** A refused call with what came, shortened, and all whom it may be of. */
export type RefusedWith = RefusedCall & { appId: number | null; raw: string; people: Person[] };

/**
 * Notes down the refused calls of one or of several requests; of somebody who was erased, or that name
 * such a person, without what came.
 */
export async function insertRefusals(tx: Tx, secrets: Secrets, entityId: number, refused: readonly RefusedWith[]): Promise<void> {
  if (refused.length === 0) return;
  const erased = await findErased(tx, secrets, entityId, () => refused.flatMap(({ people }) => people));
  const named = await findErasedTexts(tx, secrets, entityId, refused.map(textOf), { byWords: true });
  const hashes = new Map(refused.map((each, index) => [each, hashOf(each, erased) ?? named.get(index)]));
  const byApp = Map.groupBy(refused, ({ appId }) => appId);
  for (const [appId, own] of [...byApp].toSorted(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))) {
    await insertRefusedCalls(tx, entityId, appId, own.map((each) => toKept(each, hashes.get(each))));
  }
}

function textOf({ messageId, message, raw }: RefusedWith): string {
  return [raw, message, messageId ?? ''].join('\n');
}

function hashOf({ people }: RefusedWith, erased: ReadonlyMap<string, Buffer>): Buffer | undefined {
  const person = people.find((each) => erased.has(personKey(each)));
  return person && erased.get(personKey(person));
}

/** `erasedHash`: of the erased person whom the call is of, or whom a text of it names; null: it may name one. Undefined: no one. */
function toKept({ index, messageId, code, message, raw, people }: RefusedWith, erasedHash: Buffer | null | undefined): KeptRefusal {
  return erasedHash === undefined
    ? { index, messageId, code, message, raw, people }
    : { index, messageId: null, code, message: ERASED, raw: null, customerHash: erasedHash };
}
