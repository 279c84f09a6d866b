import { type Database, read, write } from '../../core/database.ts';
import { changeRows } from '../../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../../core/look-up-by-key.ts';
import { isCustomer, isVouchedFor, knownToSors, subjectOf } from '../people-keys.ts';
import type { ErasingLocation, KnownBy, LocationDependencies } from '../personal-data-location.ts';
import type { Person } from '../tombstones.ts';
import { peopleFinder, type TextNames, textNames } from './named-in.ts';
import { TextMatches } from './text-matches.ts';

/** What comes before all that a column of a key has, by its type. */
const LEAST = { integer: '0', text: '', timestamptz: '-infinity', bigint: '0', bytea: String.raw`\x` };

/**
 * Rows of a table in whose texts people may be named. Conditions and expressions are over the columns, and over what
 * `textNames` gives: $2 and $3 for `namedIn`, $4 the ids, $5 their types, $6 their keyed hashes.
 */
type TextsOfPeople = {
  table: string;
  /** The primary key behind the entity. */
  keys: Record<string, keyof typeof LEAST>;
  /** All texts of a row that may name somebody, as one; NULL: none does. */
  text: string;
  /** The ids of known type in a row, as a text[] of `subjectOf`: `naming` decides about them. */
  subjects?: string;
  /** Systems of Records brought them (`knownToSors`). */
  isOfSors?: boolean;
  /** Which of the rows do name somebody. */
  naming: string;
  /** Which of these are theirs by an id column, and the columns that an archive shows of them. */
  own?: { condition: string; shown: string };
  /** In what a row lies, as a text: all that an archive says of the others. */
  within: string;
  /** The statement that takes it away, up to its condition. */
  change: string;
  /** Which of the rows may go now. */
  changeable?: string;
  /** The column with the time of the transaction that wrote a row, where `findErasedTexts` looks before. */
  writtenAt?: string;
  rowsAtOnce?: number;
};

/** So many rows are looked at at once. */
const PAGE = 1_000;
/** So many pairs of a row and a name are tried by a statement: a pattern costs some microseconds. */
const PAIRS = 20_000;

/** Whether a row with such a column, of `subjectOf`, has an id of the people with its type. */
export const hasSubject = (subjects: string) => `${subjects} && ARRAY(
  SELECT CASE p.type WHEN 'user_id' THEN 'u' WHEN 'device_id' THEN 'd' END || p.id FROM unnest($4::text[], $5::text[]) AS p (id, type))`;

/**
 * Ways to count, show and change them. All texts of the entity are gone through once, in pages along the primary key,
 * for all people together; rows that may name somebody are asked for once more, with the few names that may stand in
 * them. Ids that are not vouched for match by their type alone.
 */
export function textsOfPeople(texts: TextsOfPeople): Pick<ErasingLocation, 'count' | 'export' | 'erase'> {
  const { table, change, changeable = 'true' } = texts;
  const named = `entity_id = $1 AND ctid = ANY ($7::tid[]) AND ($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) IS NOT NULL
    AND (${texts.naming})`;
  return {
    async count(deps, entityId, people) {
      let total = 0;
      for await (const some of listCandidates(deps, texts, entityId, people)) {
        const { rows } = await deps.db.query<{ rows: number }>(
          `SELECT count(*) AS rows FROM ${table} WHERE ${named}`,
          some,
        );
        total += rows[0]!.rows;
      }
      return total;
    },
    // A text in which an id stands may be about somebody else, above all where the id is a common word: such texts are
    // counted.
    async *export(deps, entityId, people) {
      const { condition = 'false', shown = 'NULL' } = texts.own ?? {};
      const matches = new TextMatches();
      for await (const some of listCandidates(deps, texts, entityId, people)) {
        const { rows } = await deps.db.query<Record<string, unknown>>(
          `SELECT ${shown} FROM ${table} WHERE ${named} AND (${condition}) ORDER BY ${Object.keys(texts.keys).join(', ')}`,
          some,
        );
        if (texts.own) yield* rows;
        const { rows: counted } = await deps.db.query<{ within: string | null; matches: number }>(
          `SELECT ${texts.within} AS within, count(*) AS matches FROM ${table}
           WHERE ${named} AND (${condition}) IS NOT TRUE GROUP BY 1`,
          some,
        );
        for (const { within, matches: more } of counted) matches.add(within, more);
      }
      yield* matches.records();
    },
    async erase(deps, entityId, people) {
      let total = 0;
      for await (const some of listCandidates(deps, texts, entityId, people)) {
        total += await write(deps.db, (tx) =>
          changeRows(tx, `${change} WHERE ${named} AND ${changeable}`, some, deps.tally),
        );
      }
      return total;
    },
  };
}

type Candidate = { tid: string; people: KnownBy[] };
/** The parameters of a statement about some rows. */
type Some = [...TextNames, tids: string[]];

async function* listCandidates(
  { db, secrets, writtenBefore = null }: LocationDependencies,
  texts: TextsOfPeople,
  entityId: number,
  known: KnownBy[],
): AsyncGenerator<Some> {
  const customers = texts.isOfSors ? knownToSors(known) : known.filter(isCustomer);
  const typed = texts.subjects === undefined ? new Map<string, Person[]>() : Map.groupBy(customers, subjectOf);
  if (typed.size === 0 && !known.some(isVouchedFor)) return;
  const find = peopleFinder(known);
  for await (const page of listPages(db, texts, entityId, writtenBefore)) {
    const candidates = page.map(({ tid, text, subjects }) => {
      const own = (subjects ?? []).flatMap((subject) => typed.get(subject) ?? []);
      return { tid, people: [...new Set([...(text === null ? [] : find(text)), ...own])] };
    });
    for (const { tids, named } of inChunks(candidates.filter((row) => row.people.length > 0))) {
      yield [...textNames(secrets, entityId, named), tids];
    }
  }
}

function* inChunks(candidates: Candidate[]): Generator<{ tids: string[]; named: KnownBy[] }> {
  let [tids, named] = [[] as string[], new Set<KnownBy>()];
  for (const { tid, people } of candidates) {
    const together = new Set([...named, ...people]);
    if (tids.length > 0 && together.size * (tids.length + 1) > PAIRS) {
      yield { tids, named: [...named] };
      [tids, named] = [[], new Set(people)];
    } else {
      named = together;
    }
    tids.push(tid);
  }
  if (tids.length > 0) yield { tids, named: [...named] };
}

type Row = { tid: string; text: string | null; subjects: string[] | null; key: string[] };

async function* listPages(
  db: Database,
  { table, keys, text, subjects = 'NULL::text[]', writtenAt, rowsAtOnce = PAGE }: TextsOfPeople,
  entityId: number,
  writtenBefore: Date | null,
): AsyncGenerator<Row[]> {
  const columns = Object.keys(keys);
  const after = Object.values(keys).map((type, index) => `$${index + 2}::${type}`);
  const bound = writtenAt === undefined || writtenBefore === null ? [] : [writtenBefore];
  const isBefore = bound.length === 0 ? 'true' : `${writtenAt} < $${columns.length + 2}`;
  const statement = `SELECT ctid::text AS tid, ${text} AS text, ${subjects} AS subjects,
      ARRAY[${columns.map((column) => `${column}::text`).join(', ')}] AS key
    FROM ${table} WHERE entity_id = $1 AND (${columns.join(', ')}) > (${after.join(', ')}) AND ${isBefore}
    ORDER BY ${columns.map((column) => `${table}.${column}`).join(', ')} LIMIT ${rowsAtOnce}`;
  for (let key = Object.values(keys).map((type) => LEAST[type]); ;) {
    const { rows } = await read(db, async (tx) => {
      await tx.query(LOOK_UP_BY_KEY);
      return tx.query<Row>(statement, [entityId, ...key, ...bound]);
    });
    if (rows.length > 0) yield rows;
    if (rows.length < rowsAtOnce) return;
    key = rows.at(-1)!.key;
  }
}
