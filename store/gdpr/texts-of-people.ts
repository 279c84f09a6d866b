/** Builder of locations in whose texts an id may stand: searches them, and tells how many name a person. */
import { ERASED } from '../../domain/core/erased.ts';
import { type Database, read, write } from '../core/database.ts';
import { changeRows } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { namedIn, namesOf, peopleFinder } from './named-in.ts';
import { isCustomer, isVouchedFor, knownToSors, subjectOf } from './people-keys.ts';
import {
  type ColumnsOfItsTable,
  type DescribedLocation,
  type ErasingLocation,
  type KnownBy,
  type LocationDependencies,
  withColumns,
} from './personal-data-location.ts';
import type { Person } from './tombstones.ts';
import type { Secrets } from '../core/secrets.ts';

/** The value before all values of a key's column, by its type. */
const LEAST = { integer: '0', text: '', timestamptz: '-infinity', bigint: '0', bytea: String.raw`\x` };

/**
 * Expressions are over the columns and what `textNames` gives: $2 and $3 for `namedIn`, $4 the ids, $5 their types, $6
 * their keyed hashes.
 */
type TextsOfPeople = Omit<DescribedLocation, 'columns'> & {
  /** The columns that may tell something about the person, if these are not `texts`. */
  columns?: string;
  /** The primary key behind the entity. */
  keys: Record<string, keyof typeof LEAST>;
  texts: readonly string[];
  /** All texts of a row that may name a person, as one; NULL: the row names none. */
  text?: string;
  /** The ids of known type in a row, as a text[] of `subjectOf`: `naming` decides about them. */
  subjects?: string;
  /** Systems of Records brought the rows (`knownToSors`). */
  isOfSors?: boolean;
  naming?: string;
  /** The rows that belong to the person by an id column, and the columns that an archive shows of them. */
  own?: { condition: string; shown: string };
  /** The record that a row belongs to, as a text: all that an archive says of rows that are not the person's own. */
  within: string;
  emptied?: string;
  /** The condition on rows that erasure may change now. */
  changeable?: string;
  /** The column with the start of the row's transaction: later rows leave erased people out (`findErasedTexts`). */
  writtenAt?: string;
  rowsAtOnce?: number;
};

const PAGE = 1_000;
/** Maximum number of pairs of a row and a name in a statement: a pattern costs some microseconds. */
const PAIRS = 20_000;

/** Returns a condition: a column of `subjectOf` has an id of the people with its type. */
const hasSubject = (subjects: string) => `${subjects} && ARRAY(
  SELECT CASE p.type WHEN 'user_id' THEN 'u' WHEN 'device_id' THEN 'd' END || p.id FROM unnest($4::text[], $5::text[]) AS p (id, type))`;

/** Returns what sets a text to another one, `erased` by default, where the text names a person. */
export const replacedIn = (text: string, by = `'${ERASED}'`) =>
  `${text} = CASE WHEN ${namedIn(text)} THEN ${by} ELSE ${text} END`;

/**
 * Makes a location of texts. Searches all texts of the entity in pages, once for all people; queries the few rows that
 * may name a person with these names. Ids that are not vouched for match by their type alone.
 */
export function textsOfPeople<const D extends TextsOfPeople>(described: D & ColumnsOfItsTable<D>): ErasingLocation;
export function textsOfPeople(texts: TextsOfPeople): ErasingLocation {
  const {
    name,
    columns = texts.texts.join(', '),
    otherColumns,
    holds,
    foundBy,
    erasedBy,
    keptFor,
    emptied,
    changeable = 'true',
  } = texts;
  const named = `entity_id = $1 AND ctid = ANY ($7::tid[]) AND ($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) IS NOT NULL
    AND (${texts.naming ?? namingOf(texts)})`;
  const change = emptied === undefined ? `DELETE FROM ${name}` : `UPDATE ${name} SET ${emptied}`;
  return {
    ...withColumns({ name, columns, otherColumns, holds, foundBy, erasedBy, keptFor }),
    async count(deps, entityId, people) {
      let total = 0;
      for await (const some of listCandidates(deps, texts, entityId, people)) {
        const { rows } = await deps.db.query<{ rows: number }>(
          `SELECT count(*) AS rows FROM ${name} WHERE ${named}`,
          some,
        );
        total += rows[0]!.rows;
      }
      return total;
    },
    // An archive only counts texts with an id: they may be about another person, if the id is a common word.
    async *export(deps, entityId, people) {
      const { condition = 'false', shown = 'NULL' } = texts.own ?? {};
      const matches = new TextMatches();
      for await (const some of listCandidates(deps, texts, entityId, people)) {
        const { rows } = await deps.db.query<Record<string, unknown>>(
          `SELECT ${shown} FROM ${name} WHERE ${named} AND (${condition}) ORDER BY ${Object.keys(texts.keys).join(', ')}`,
          some,
        );
        if (texts.own) yield* rows;
        const { rows: counted } = await deps.db.query<{ within: string | null; matches: number }>(
          `SELECT ${texts.within} AS within, count(*) AS matches FROM ${name}
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

type TextNames = [
  entityId: number,
  parts: (string | null)[],
  patterns: (string | null)[],
  ids: string[],
  types: KnownBy['customerType'][],
  hashes: Buffer[],
];

/** Returns the entity, parts and patterns of vouched ids (else NULL), all ids, their types and keyed hashes. */
function textNames(secrets: Secrets, entityId: number, people: readonly KnownBy[]): TextNames {
  const names = people.map((known) => namesOf(entityId, [known]));
  return [
    entityId,
    names.map(([, [part = null]]) => part),
    names.map(([, , [pattern = null]]) => pattern),
    people.map(({ customerId }) => customerId),
    people.map(({ customerType }) => customerType),
    people.map(({ customerType, customerId }) => secrets.customerHash(entityId, customerType, customerId)),
  ];
}

function namingOf({ texts, subjects }: TextsOfPeople): string {
  return [...(subjects === undefined ? [] : [hasSubject(subjects)]), ...texts.map(namedIn)].join(' OR ');
}

type Candidate = { tid: string; people: KnownBy[] };
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
  {
    name,
    keys,
    texts,
    text = `concat_ws(E'\\n', ${texts.join(', ')})`,
    subjects = 'NULL::text[]',
    writtenAt,
    rowsAtOnce = PAGE,
  }: TextsOfPeople,
  entityId: number,
  writtenBefore: Date | null,
): AsyncGenerator<Row[]> {
  const columns = Object.keys(keys);
  const after = Object.values(keys).map((type, index) => `$${index + 2}::${type}`);
  const bound = writtenAt === undefined || writtenBefore === null ? [] : [writtenBefore];
  const isBefore = bound.length === 0 ? 'true' : `${writtenAt} < $${columns.length + 2}`;
  const statement = `SELECT ctid::text AS tid, ${text} AS text, ${subjects} AS subjects,
      ARRAY[${columns.map((column) => `${column}::text`).join(', ')}] AS key
    FROM ${name} WHERE entity_id = $1 AND (${columns.join(', ')}) > (${after.join(', ')}) AND ${isBefore}
    ORDER BY ${columns.map((column) => `${name}.${column}`).join(', ')} LIMIT ${rowsAtOnce}`;
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

export class TextMatches {
  readonly #counts = new Map<string | null, number>();

  add(within: string | null, matches = 1): void {
    this.#counts.set(within, (this.#counts.get(within) ?? 0) + matches);
  }

  records(): { within: string | null; matches: number }[] {
    return [...this.#counts].map(([within, matches]) => ({ within, matches }));
  }
}
