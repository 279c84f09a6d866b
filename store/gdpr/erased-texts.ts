/** Finds texts that name an erased person, before they are stored. */
import { possibleIds } from '../../domain/gdpr/ids-in-text.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { peopleFinder } from './named-in.ts';
import type { KnownBy } from './personal-data-location.ts';
import { hasErased, listErased, personKey } from './tombstones.ts';

/** How many ids of people who are being erased texts are searched for at once, and maximum number in all. */
const ERASING_IDS_AT_ONCE = 10_000;
const MAX_ERASING_IDS = 20_000;
/** Maximum number of words of a text that are looked up among the tombstones. */
const MAX_WORDS = 200;
/** How many words are looked up at once, and maximum number of all texts together. */
const WORDS_AT_ONCE = 20_000;
const MAX_WORDS_IN_ALL = 200_000;

/**
 * Returns which texts name an erased person, or one who is being erased, with the keyed hash, by the text's index: they
 * must not be kept. Call it in the transaction that writes them. `byWords` also looks each word up in tombstones.
 * Null: a text could not be searched (MAX_ERASING_IDS, MAX_WORDS_IN_ALL). An empty text names no person.
 */
export async function findErasedTexts(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  texts: readonly string[],
  { byWords }: { byWords: boolean },
): Promise<Map<number, Buffer | null>> {
  const named = new Map<number, Buffer | null>();
  if (texts.every((text) => text === '') || !(await hasErased(db, entityId))) return named;
  const areAllSearched = await addNamedByErasing(db, secrets, entityId, texts, named);
  if (byWords) await addNamedByWords(db, secrets, entityId, texts, named);
  if (areAllSearched) return named;
  for (const [index, text] of texts.entries()) if (text !== '' && !named.has(index)) named.set(index, null);
  return named;
}

async function addNamedByErasing(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  texts: readonly string[],
  named: Map<number, Buffer | null>,
): Promise<boolean> {
  for (let [after, searched] = ['', 0]; ;) {
    const erasing = await listErasingIds(db, entityId, after);
    if (searched === MAX_ERASING_IDS) return erasing.length === 0;
    const find = peopleFinder(erasing);
    for (const [index, text] of texts.entries()) {
      if (text === '' || named.has(index)) continue;
      const [person] = find(text);
      if (person) named.set(index, secrets.customerHash(entityId, person.customerType, person.customerId));
    }
    if (erasing.length < ERASING_IDS_AT_ONCE) return true;
    searched += erasing.length;
    after = erasing.at(-1)!.customerId;
  }
}

async function addNamedByWords(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  texts: readonly string[],
  named: Map<number, Buffer | null>,
): Promise<void> {
  let wordsOf = new Map<number, Set<string>>();
  let [words, total] = [new Set<string>(), 0];
  const lookUp = async () => {
    const erased = await listErased(db, secrets, entityId, Array.from(words, asUser));
    for (const [index, own] of erased.size === 0 ? [] : wordsOf) {
      const word = [...own].find((some) => erased.has(personKey(asUser(some))));
      if (word !== undefined) named.set(index, erased.get(personKey(asUser(word)))!);
    }
    total += words.size;
    [words, wordsOf] = [new Set(), new Map()];
  };
  for (const [index, text] of texts.entries()) {
    if (text === '' || named.has(index)) continue;
    if (total >= MAX_WORDS_IN_ALL) {
      named.set(index, null);
      continue;
    }
    const own = possibleIds(text, MAX_WORDS);
    wordsOf.set(index, own);
    for (const word of own) words.add(word);
    if (words.size >= WORDS_AT_ONCE) await lookUp();
  }
  if (words.size > 0) await lookUp();
}

/** Returns a user: texts are searched for ids of users only, as in `isVouchedFor`. */
function asUser(customerId: string) {
  return { customerType: 'user_id' as const, customerId };
}

/** Lists user ids of people whose deletion runs and who are not on hold, in order, after `after`. */
async function listErasingIds(db: Queryable, entityId: number, after: string): Promise<KnownBy[]> {
  const { rows } = await db.query<Row<'gdpr_identifiers', 'value'>>({
    name: 'list-erasing-ids',
    // Looks up each person's state by its key: a join without statistics took minutes for thousands of people.
    text: `SELECT DISTINCT i.value FROM gdpr_requests r JOIN gdpr_identifiers i ON i.entity_id = r.entity_id AND i.request_id = r.id
           WHERE r.entity_id = $1 AND r.request_type = 'delete' AND r.state = 'running'
             AND i.kind = 'user_id' AND i.origin <> 'alias' AND i.value > $2
             AND (SELECT p.state FROM gdpr_request_people p
               WHERE p.entity_id = i.entity_id AND p.request_id = i.request_id AND p.ordinal = i.ordinal) = 'pending'
           ORDER BY i.value LIMIT ${ERASING_IDS_AT_ONCE}`,
    values: [entityId, after],
  });
  return rows.map(({ value }) => asUser(value));
}
