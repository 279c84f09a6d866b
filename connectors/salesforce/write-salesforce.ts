/** Writes records to Salesforce: creates, updates and deletes them, and says of each what became of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { numberText } from '../../domain/json/exact-json.ts';
import {
  type ConnectorContext,
  type Field,
  sayTakesNone,
  type SourceRecord,
  takesNoValues,
  type WriteOutcome,
  type Writing,
} from '../core/contract.ts';
import { RunValues } from '../core/kept-values.ts';
import { inOrder } from '../core/pace.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { halvesOf, partsOf, roundsOf, Turns } from '../core/write-order.ts';
import { codesIn, Salesforce } from './salesforce-api.ts';
import { type Fault, Faults, GONE, LOCKED, outcomeOfFault } from './salesforce-faults.ts';
import { describe, type Described, type DescribedField, fieldsOf, ID, isSet, keysOf } from './salesforce-objects.ts';
import type { SalesforceSettings } from './salesforce-settings.ts';
import { comparable, isFault, literalOf, type Sent, sentOf } from './salesforce-values.ts';

/** Maximum number of records in a call (REST API Developer Guide, "sObject Collections"). */
const PER_CALL = 200;
const IN_FLIGHT = 4;

/** Pauses before records that are locked are sent again. */
const LOCK_PAUSES_MS = [200, 500, 1_200];
/** Another call made the record meanwhile, as one does that a killed try left behind: it is updated at a second try. */
const DUPLICATE = 'DUPLICATE_VALUE';

/** Maximum length of a list of keys in the URL of a query: Salesforce refuses URLs over 16 KiB. */
const LIST_LENGTH = 14_000;

/** A record to write: its key as text and as Salesforce compares it, and what is sent; `id`: if it was looked up. */
type Row = { key: string; name: string; values: Record<string, Sent>; id?: string };
type Outcomes = Map<Row, WriteOutcome>;
/** Salesforce's answer on a row: the fault, or null if it took the row. A row that it said nothing of is missing. */
type Answers = Map<Row, Pick<Fault, 'code' | 'fields'> | null>;

/**
 * Writes records by their key in calls of 200, four in flight. Calls that write one record follow each other in the
 * records' order. A repeat writes the same values again.
 */
export async function* writeSalesforce(
  settings: SalesforceSettings,
  writing: Writing,
  context: ConnectorContext,
): AsyncGenerator<WriteOutcome[]> {
  const { answered, records, isRemoval, sending = () => undefined } = writing;
  sending(answered);
  const salesforce = new Salesforce(settings, context);
  const { stream } = writing;
  const object = await described.of(context, stream, () => describe(salesforce, stream));
  const key = keyOf(object, writing.key);
  checkRights(salesforce.host, object, isRemoval);
  if (!isRemoval) checkFields(object, key, writing);
  const byName = new Map(object.fields.map((field) => [field.name, field]));
  const choices = new Map(object.fields.map((field) => [field.name, choicesOf(field)]));
  let isChecked: Promise<void> | undefined;
  const checkAgain = () =>
    (isChecked ??= describe(salesforce, stream).then((found) => checkRights(salesforce.host, found, isRemoval)));
  const turns = new Turns();
  const work = async ({ from, some }: { from: number; some: SourceRecord[] }, signal: AbortSignal) => {
    const rows = some.map((record) =>
      rowOf(isRemoval ? { [key.name]: record[key.name] ?? null } : record, key, byName),
    );
    const onSending = () => sending(from + some.length);
    const writer = new Writer(salesforce, { object, key, choices, checkRights: checkAgain, signal, onSending });
    const good = rows.filter((row) => 'name' in row);
    const outcomes = await (isRemoval ? writer.remove(good) : writer.write(good, turns));
    return rows.map((row) => ('name' in row ? outcomes.get(row)! : row));
  };
  yield* inOrder(partsOf(records, answered, PER_CALL), IN_FLIGHT, work, context.signal);
}

const described = new RunValues<Described>();

const choicesOf = ({ picklistValues = [] }: DescribedField): string[] =>
  picklistValues.filter(({ active }) => active !== false).map(({ value }) => value);

/** Returns the field by which Salesforce finds records: an external id, another that it looks up, or the id. */
function keyOf({ name, fields }: Described, key: readonly string[]): DescribedField {
  const choices = keysOf(fields);
  const found = key.length === 1 ? choices.find((field) => field.name === key[0]) : undefined;
  if (found) return found;
  const message =
    `key: Salesforce does not find ${name} by ${key.join(', ') || 'no field'}: choose one of ` +
    `${choices.map((field) => field.name).join(', ')}, or make a field there that is an external id and unique`;
  throw sourceRefusal('source_refused', message);
}

/** Refuses an object to which the user may not write, or whose records it may not delete. */
function checkRights(host: string, object: Described, isRemoval: boolean): void {
  if (isRemoval ? object.deletable === true : isSet(object)) return;
  const what = isRemoval ? `delete records of ${object.name}` : `create or edit ${object.name}`;
  const message = `The user of the credentials may not ${what} at ${host}: give its permission set that right`;
  throw sourceRefusal('source_refused', message);
}

/** Refuses fields that Salesforce does not show, or takes no values for: each record would fail for it. */
function checkFields({ name, fields }: Described, { name: key }: DescribedField, { records }: Writing): void {
  const taken = new Map<string, Field>(fieldsOf(fields).map((field) => [field.name, field]));
  // By their ids, records are only updated.
  const fixed = new Set(key === ID ? fields.filter(({ updateable }) => !updateable).map((field) => field.name) : []);
  for (const given of new Set(records.flatMap((record) => Object.keys(record)))) {
    const field = taken.get(given);
    if (field === undefined) {
      const why = 'it has no such field, or field-level security hides it from the user';
      const message = `Salesforce shows no field ${given} of ${name}: ${why}; make it visible, or leave it out`;
      throw sourceRefusal('source_refused', message);
    }
    if (takesNoValues(field, [key])) throw sourceRefusal('source_refused', sayTakesNone(name, field));
    if (given !== key && fixed.has(given)) {
      const message = `The field ${given} of ${name} can't be changed once a record is there: leave it out in the mapping`;
      throw sourceRefusal('source_refused', message);
    }
  }
}

/** Returns a record as it is sent, or why it is not. */
function rowOf(
  record: SourceRecord,
  key: DescribedField,
  fields: ReadonlyMap<string, DescribedField>,
): Row | (WriteOutcome & { kind: 'failed' }) {
  const values: Record<string, Sent> = {};
  for (const [name, value] of Object.entries(record)) {
    const sent = sentOf(fields.get(name)!, value);
    if (isFault(sent)) return { kind: 'failed', message: sent.fault, later: false, field: name };
    values[name] = sent;
  }
  const named = textIn(values[key.name]);
  if (named === '') return { kind: 'failed', message: `The record has no ${key.name}`, later: false };
  // As Salesforce keeps it: without spaces around it.
  if (typeof values[key.name] === 'string') values[key.name] = named;
  return { key: named, name: comparable(key, named), values };
}

/** Returns a key's value as text, also of an answer. */
const textIn = (value: unknown): string => (numberText(value) ?? (typeof value === 'string' ? value : '')).trim();

const Results = z.array(
  z.object({ success: z.boolean().optional().catch(undefined), errors: Faults.nullish().catch(undefined) }),
);
/** Maximum size of results: a duplicate rule adds the records that it found. */
const RESULT_BYTES = 16 * 1024 * 1024;

const Found = z.object({
  nextRecordsUrl: z
    .string()
    .regex(/^\/services\/data\/v[\d.]{1,6}\/query\/[\w-]{1,100}$/)
    .optional(),
  records: z.array(z.looseObject({ [ID]: z.string() })),
});

type FoundRecord = z.output<typeof Found>['records'][number];

type To = {
  object: Described;
  key: DescribedField;
  /** By the names of all fields. */
  choices: ReadonlyMap<string, readonly string[]>;
  /** Refuses if the user has lost the right to write to the object. */
  checkRights: () => Promise<void>;
  signal: AbortSignal;
  onSending: () => void;
};

/** Writes the records of a part, each call after the other. */
class Writer {
  readonly #salesforce: Salesforce;
  readonly #to: To;

  constructor(salesforce: Salesforce, to: To) {
    this.#salesforce = salesforce;
    this.#to = to;
  }

  async write(rows: Row[], turns: Turns): Promise<Outcomes> {
    const nameOf = ({ name }: Row) => name;
    return turns.take(Promise.resolve(new Set(rows.map(nameOf))), async () => {
      const outcomes: Outcomes = new Map();
      for (const round of roundsOf(rows, nameOf)) {
        const answers = await this.#untilUnlocked(round, (some) => this.#save(some));
        for (const row of round) outcomes.set(row, await this.#outcomeOf(row, answers.get(row)));
      }
      return outcomes;
    });
  }

  /** Deletes records; those that Salesforce does not know, or has in its recycle bin, are gone. */
  async remove(rows: Row[]): Promise<Outcomes> {
    const ambiguous = await this.#lookUp(rows);
    const outcomes: Outcomes = new Map(rows.map((row) => [row, UNCHANGED]));
    for (const row of ambiguous) {
      outcomes.set(row, outcomeOfFault({ code: 'DUPLICATE_EXTERNAL_ID', fields: [] }, this.#written(row)));
    }
    for (const round of roundsOf(
      rows.filter((row) => row.id !== undefined && !ambiguous.has(row)),
      ({ id }) => id!,
    )) {
      const answers = await this.#untilUnlocked(round, (some) => this.#delete(some));
      for (const row of round) {
        const answer = answers.get(row);
        const isGone = GONE.includes(answer?.code ?? '');
        outcomes.set(row, isGone ? UNCHANGED : await this.#outcomeOf(row, answer));
      }
    }
    return outcomes;
  }

  /** Sends rows, and those again that were locked, or that another call has created meanwhile. */
  async #untilUnlocked(rows: Row[], send: (rows: Row[]) => Promise<Answers>): Promise<Answers> {
    const { signal } = this.#to;
    const answers = await send(rows);
    for (const [n, pauseMs] of LOCK_PAUSES_MS.entries()) {
      const isAgain = ({ code }: { code?: string | undefined }) => code === LOCKED || (n === 0 && code === DUPLICATE);
      const again = rows.filter((row) => isAgain(answers.get(row) ?? {}));
      if (again.length === 0) break;
      await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      for (const [row, answer] of await send(again)) answers.set(row, answer);
    }
    return answers;
  }

  /** Creates or updates rows in one call. One that is refused as a whole is halved until the wrong row stands alone. */
  async #save(rows: Row[]): Promise<Answers> {
    const { object, key, signal, onSending } = this.#to;
    const isById = key.name === ID;
    const type = encodeURIComponent(object.name);
    const attributes = { type: object.name };
    const records = rows.map(({ values: { [ID]: id, ...values } }) => ({
      attributes,
      ...(isById && { id }),
      ...values,
    }));
    try {
      return answersIn(
        rows,
        await this.#salesforce.read(Results, {
          path: isById ? '/composite/sobjects' : `/composite/sobjects/${type}/${encodeURIComponent(key.name)}`,
          method: 'PATCH',
          mostBytes: RESULT_BYTES,
          body: { allOrNone: false, records },
          signal,
          onSending,
        }),
      );
    } catch (error) {
      const code = codeOfRow(error);
      if (code === null) throw error;
      if (rows.length === 1) return new Map([[rows[0]!, { code, fields: [] }]]);
    }
    const answers: Answers = new Map();
    for (const half of halvesOf(rows)) for (const [row, answer] of await this.#save(half)) answers.set(row, answer);
    return answers;
  }

  async #delete(rows: Row[]): Promise<Answers> {
    const { signal, onSending } = this.#to;
    const query = { ids: rows.map(({ id }) => id!).join(','), allOrNone: 'false' };
    const path = '/composite/sobjects';
    return answersIn(
      rows,
      await this.#salesforce.read(Results, {
        path,
        query,
        method: 'DELETE',
        mostBytes: RESULT_BYTES,
        signal,
        onSending,
      }),
    );
  }

  /**
   * Finds the ids of rows by their keys, those of ids as well: the id of another object's record would delete that.
   * Returns rows whose key several records have.
   */
  async #lookUp(rows: Row[]): Promise<Set<Row>> {
    const { key } = this.#to;
    const byName = Map.groupBy(rows, ({ name }) => name);
    const ambiguous = new Set<Row>();
    for (const some of listsOf([...byName.values()].map(([row]) => literalOf(key, row!.key)))) {
      for await (const record of this.#find(some)) {
        for (const row of byName.get(comparable(key, textIn(record[key.name]))) ?? []) {
          if (row.id !== undefined && row.id !== record[ID]) ambiguous.add(row);
          row.id = record[ID];
        }
      }
    }
    return ambiguous;
  }

  /** Yields the records with these keys. A list with a text that is no id is refused as a whole, and halved. */
  async *#find(literals: string[]): AsyncGenerator<FoundRecord> {
    const { object, key, signal } = this.#to;
    const columns = key.name === ID ? ID : `${ID}, ${key.name}`;
    const q = `SELECT ${columns} FROM ${object.name} WHERE ${key.name} IN (${literals.join()})`;
    try {
      let page = await this.#salesforce.read(Found, { path: '/query', query: { q }, signal });
      yield* page.records;
      while (page.nextRecordsUrl !== undefined) {
        page = await this.#salesforce.read(Found, { path: page.nextRecordsUrl, signal });
        yield* page.records;
      }
    } catch (error) {
      if (key.name !== ID || !codesIn(error).includes('INVALID_QUERY_FILTER_OPERATOR')) throw error;
      if (literals.length > 1) for (const half of halvesOf(literals)) yield* this.#find(half);
    }
  }

  async #outcomeOf(row: Row, answer: Pick<Fault, 'code' | 'fields'> | null | undefined): Promise<WriteOutcome> {
    if (answer === undefined) return NO_WORD;
    if (answer === null) return OK;
    const { code = '' } = answer;
    if (RIGHTS.has(code)) await this.#to.checkRights();
    if (code === 'STORAGE_LIMIT_EXCEEDED') {
      const message = `${this.#salesforce.host} has no storage left for records: delete some, or buy more`;
      throw sourceRefusal('source_refused', message);
    }
    return outcomeOfFault(answer, this.#written(row));
  }

  #written({ values }: Row) {
    const { choices, key } = this.#to;
    return { fields: Object.keys(values), choices, key: key.name };
  }
}

const OK: WriteOutcome = { kind: 'ok' };
const UNCHANGED: WriteOutcome = { kind: 'unchanged' };
const NO_WORD: WriteOutcome = { kind: 'failed', message: 'Salesforce answered without a word on it', later: true };

/** Codes of a right that lacks for one record, or, if it was taken away during the run, for all of them. */
const RIGHTS = new Set([
  'INSUFFICIENT_ACCESS_OR_READONLY',
  'INSUFFICIENT_ACCESS',
  'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
]);

/** Returns what an answer says of rows. Results have their order alone: if one is missing, none can be told apart. */
function answersIn(rows: Row[], results: z.output<typeof Results>): Answers {
  const answers: Answers = new Map();
  if (results.length !== rows.length) return answers;
  for (const [n, { success, errors }] of results.entries()) {
    const [fault] = errors ?? [];
    if (success === true) answers.set(rows[n]!, null);
    else if (fault) answers.set(rows[n]!, fault);
  }
  return answers;
}

/** Codes of a call that would be refused with any other record as well. */
const OF_ALL = ['INVALID_FIELD', 'INVALID_TYPE', 'API_DISABLED_FOR_ORG', 'UNSUPPORTED_API_VERSION'];

/**
 * Returns the code by which a call was refused as a whole for one of its records, or for their size; null: another. One
 * without a code comes from something before Salesforce, which would refuse each record alone as well.
 */
function codeOfRow(error: unknown): string | null {
  const status = error instanceof Refusal && error.status === 'source_refused' ? error.extra['source_status'] : null;
  const codes = codesIn(error);
  if ((status !== 400 && status !== 413) || codes.some((code) => OF_ALL.includes(code))) return null;
  return codes[0] ?? (status === 413 ? `${status}` : null);
}

/** Cuts literals into lists that fit into URLs. No key is as long as one that does not fit. */
function listsOf(literals: string[]): string[][] {
  const lists: string[][] = [];
  let left = 0;
  for (const literal of literals) {
    const length = `${new URLSearchParams([['', `${literal},`]])}`.length;
    if (length > LIST_LENGTH) continue;
    if (length > left) {
      lists.push([]);
      left = LIST_LENGTH;
    }
    lists.at(-1)!.push(literal);
    left -= length;
  }
  return lists;
}
