import { possibleIds } from '../../domain/gdpr/ids-in-text.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { peopleFinder } from './personal-data/named-in.ts';
import type { KnownBy } from './personal-data-location.ts';
import { hasErased, listErased, personKey } from './tombstones.ts';

/** Maximum number of ids of people who are being erased that texts are searched for; with more, no text is kept meanwhile. */
const MAX_ERASING_IDS = 1_000;
/** Maximum numbers of words that are looked up among the tombstones: of a text, and of all texts together. */
const MAX_WORDS = 200;
const MAX_WORDS_AT_ONCE = 20_000;

/**
 * Returns which of these texts name an erased person, or one who is being erased, with that person's keyed hash, by the text's index: they
 * must not be kept. Call it in the transaction that writes them. While people are being erased, it finds all that their erasure would find.
 * Of those who are gone only hashes are left: `byWords` looks up each word as well, at most MAX_WORDS_AT_ONCE; texts beyond count as naming
 * somebody, with null.
 */
export async function findErasedTexts(
  db: Queryable, secrets: Secrets, entityId: number, texts: readonly string[], { byWords }: { byWords: boolean },
): Promise<Map<number, Buffer | null>> {
  const named = new Map<number, Buffer | null>();
  if (texts.length === 0 || !await hasErased(db, entityId)) return named;
  const erasing = await listErasingIds(db, entityId);
  if (erasing.length > MAX_ERASING_IDS) return new Map(Array.from(texts.keys(), (index) => [index, null]));
  const find = peopleFinder(erasing);
  for (const [index, text] of texts.entries()) {
    const [person] = find(text);
    if (person) named.set(index, secrets.customerHash(entityId, person.customerType, person.customerId));
  }
  if (byWords) await addNamedByWords(db, secrets, entityId, texts, named);
  return named;
}

async function addNamedByWords(
  db: Queryable, secrets: Secrets, entityId: number, texts: readonly string[], named: Map<number, Buffer | null>,
): Promise<void> {
  const words = new Set<string>();
  const wordsOf = new Map<number, Set<string>>();
  for (const [index, text] of texts.entries()) {
    if (named.has(index)) continue;
    if (words.size >= MAX_WORDS_AT_ONCE) {
      named.set(index, null);
      continue;
    }
    const own = possibleIds(text, MAX_WORDS);
    wordsOf.set(index, own);
    for (const word of own) words.add(word);
  }
  const erased = await listErased(db, secrets, entityId, Array.from(words, asUser));
  if (erased.size === 0) return;
  for (const [index, own] of wordsOf) {
    const word = [...own].find((some) => erased.has(personKey(asUser(some))));
    if (word !== undefined) named.set(index, erased.get(personKey(asUser(word)))!);
  }
}

/** Texts are searched for ids of users alone, as in `isVouchedFor`. */
function asUser(customerId: string) {
  return { customerType: 'user_id' as const, customerId };
}

/** The user ids of those whose deletion runs and who are not on hold, one more than MAX_ERASING_IDS at most. */
async function listErasingIds(db: Queryable, entityId: number): Promise<KnownBy[]> {
  const { rows } = await db.query<{ value: string }>({
    name: 'list-erasing-ids',
    text: `SELECT DISTINCT i.value FROM gdpr_requests r
           JOIN gdpr_identifiers i ON i.entity_id = r.entity_id AND i.request_id = r.id
           JOIN gdpr_request_people p ON p.entity_id = i.entity_id AND p.request_id = i.request_id AND p.ordinal = i.ordinal
           WHERE r.entity_id = $1 AND r.request_type = 'delete' AND r.state = 'running' AND p.state = 'pending'
             AND i.kind = 'user_id' AND i.origin <> 'alias' LIMIT ${MAX_ERASING_IDS + 1}`,
    values: [entityId],
  });
  return rows.map(({ value }) => asUser(value));
}
