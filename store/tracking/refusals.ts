import { ERASED } from '../../domain/core/erased.ts';
import type { RefusedCall } from '../../domain/tracking/tracked-call.ts';
import type { Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { messageHash } from './event-messages.ts';
import { insertRefusedCalls, type KeptRefusal } from './refused-calls.ts';

/** A refused call with what came, shortened, and all whom it may be of. */
export type RefusedWith = RefusedCall & { appId: number | null; raw: string; people: Person[] };

/**
 * Notes down the refused calls of one or of several requests; one of an erased person, or that names one, without what
 * came.
 */
export async function insertRefusals(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  refused: readonly RefusedWith[],
): Promise<void> {
  if (refused.length === 0) return;
  const kept = await redactRefusals(tx, secrets, entityId, refused);
  const byApp = Map.groupBy(refused.keys(), (index) => refused[index]!.appId);
  for (const [appId, own] of [...byApp].toSorted(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))) {
    await insertRefusedCalls(
      tx,
      entityId,
      appId,
      own.map((index) => kept[index]!),
    );
  }
}

/**
 * The reason of a refusal stays, unless it quotes the person; so does the hash of its messageId, by which repeats are
 * known.
 */
async function redactRefusals(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  refused: readonly RefusedWith[],
): Promise<KeptRefusal[]> {
  const erased = await findErased(tx, secrets, entityId, () => refused.flatMap(({ people }) => people));
  const texts = refused.map(({ messageId, message, raw }) => [raw, message, messageId ?? ''].join('\n'));
  const named = await findErasedTexts(tx, secrets, entityId, texts, { byWords: true });
  const hashes = refused.map(({ people }, index) => {
    const person = people.find((each) => erased.has(personKey(each)));
    return person === undefined ? named.get(index) : erased.get(personKey(person))!;
  });
  const messages = refused.map(({ message }, index) => (hashes[index] === undefined ? '' : message));
  const quoting = await findErasedTexts(tx, secrets, entityId, messages, { byWords: true });
  const messageIds = refused.map(({ messageId }, index) => (hashes[index] === undefined ? '' : (messageId ?? '')));
  const naming = await findErasedTexts(tx, secrets, entityId, messageIds, { byWords: true });
  return refused.map(({ index: place, messageId, code, message, raw, people }, index): KeptRefusal => {
    const customerHash = hashes[index];
    if (customerHash === undefined) return { index: place, messageId, code, message, raw, people };
    const hash = messageId === null || naming.has(index) ? null : messageHash(messageId);
    return {
      index: place,
      messageId: null,
      code,
      message: quoting.has(index) ? ERASED : message,
      raw: null,
      customerHash,
      messageHash: hash,
    };
  });
}
