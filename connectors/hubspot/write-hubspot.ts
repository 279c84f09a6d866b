/** Writes records to HubSpot: creates, updates and archives them, and says of each what became of it. */
import { z } from 'zod';
import { readNumber } from '../../domain/text/number-value.ts';
import {
  type ConnectorContext,
  type Json,
  type SourceRecord,
  sayTakesNone,
  takesNoValues,
  type WriteOutcome,
  type Writing,
} from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { answerAs, errorJson, TooLargeAnswer } from '../core/json-requests.ts';
import { RunValues } from '../core/kept-values.ts';
import { inOrder } from '../core/pace.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { halvesOf, partsOf, roundsOf, Turns } from '../core/write-order.ts';
import { Hubspot } from './hubspot-api.ts';
import { checkWhole, detailOf, type Failing, Fault, isConflict, outcomeOfFault } from './hubspot-faults.ts';
import {
  EMAIL,
  fieldsOf,
  HubspotRecord,
  ID,
  keysOf,
  type Kind,
  kindOf,
  objectsPath,
  propertiesOf,
  type Property,
} from './hubspot-objects.ts';
import type { HubspotSettings } from './hubspot-settings.ts';

/** Maximum number of records in a call (developers.hubspot.com, object APIs). */
const PER_CALL = 100;
const IN_FLIGHT = 4;

/** Further addresses of a contact; each finds it. */
const MORE_EMAILS = 'hs_additional_emails';
/** HubSpot never moves it backward: it answers 200, and keeps the value that it has. */
const STAGE = 'lifecyclestage';

/** How a record is found: by its id, by the address of a contact, or by a property whose values are unique. */
type Way = 'id' | 'email' | 'unique';
/** A record to write: the value of its key, those of its other properties as texts, and its id if it was found. */
type Row = { ordinal: number; key: string; values: Record<string, string>; id: string | null };
type Verb = 'create' | 'update' | 'upsert' | 'archive';
const isById = (verb: Verb) => verb === 'update' || verb === 'archive';
type Outcomes = Map<Row, WriteOutcome>;

/**
 * Writes records by their key in calls of 100, four in flight. Calls that write one record follow each other in the
 * records' order. A repeat writes the same values again, which changes nothing.
 */
export async function* writeHubspot(
  settings: HubspotSettings,
  writing: Writing,
  context: ConnectorContext,
): AsyncGenerator<WriteOutcome[]> {
  const { answered, records, key, isRemoval, sending = () => undefined } = writing;
  sending(answered);
  const hubspot = new Hubspot(settings, context);
  const { kind, properties } = await knownKind(hubspot, writing.stream, context);
  const way = wayOf(kind, properties, key);
  if (!isRemoval) checkFields(kind, properties, writing);
  const turns = new Turns();
  const refused = new Map<string, Failing>();
  const names = properties.map(({ name }) => name);
  const choices = new Map(properties.map(({ name, options }) => [name, (options ?? []).map(({ value }) => value)]));
  const parts = partsOf(records, answered, PER_CALL);
  const work = async ({ from, some }: (typeof parts)[number], signal: AbortSignal): Promise<WriteOutcome[]> => {
    const rows = some.map((record, n) => rowOf(record, key[0]!, from + n));
    const onSending = () => sending(from + some.length);
    const writer = new Writer(hubspot, {
      kind,
      properties: names,
      choices,
      way,
      key: key[0]!,
      refused,
      signal,
      onSending,
    });
    const good = rows.filter((row) => 'ordinal' in row);
    const outcomes = await (isRemoval ? writer.remove(good) : writer.write(good, turns));
    return rows.map((row) => ('ordinal' in row ? outcomes.get(row)! : row));
  };
  yield* inOrder(parts, IN_FLIGHT, work, context.signal);
}

type Known = { kind: Kind; properties: Property[] };

const knownKinds = new RunValues<Known>();

/** Returns a stream's kind and properties, which a run asks for once. */
const knownKind = (hubspot: Hubspot, stream: string, context: ConnectorContext): Promise<Known> =>
  knownKinds.of(context, stream, async () => {
    const kind = await kindOf(hubspot, stream);
    return { kind, properties: await propertiesOf(hubspot, kind) };
  });

function wayOf(kind: Kind, properties: readonly Property[], key: readonly string[]): Way {
  const choices = keysOf(kind, properties);
  const [field = ''] = key;
  if (key.length === 1 && choices.includes(field)) {
    if (field === ID) return 'id';
    return field === EMAIL && kind.name === 'contacts' ? 'email' : 'unique';
  }
  const message =
    `key: HubSpot does not find ${kind.name} by ${key.join(', ') || 'no property'}: choose one of ` +
    `${choices.join(', ')}, or make a property in HubSpot that requires unique values`;
  throw sourceRefusal('source_refused', message);
}

/** Refuses properties that HubSpot does not have or takes no values for: each record would fail for it. */
function checkFields({ name }: Kind, properties: readonly Property[], { key, records }: Writing): void {
  const fields = new Map(fieldsOf(properties).map((field) => [field.name, field]));
  for (const given of new Set(records.flatMap((record) => Object.keys(record)))) {
    const field = fields.get(given);
    if (field === undefined) throw lacking(name, given);
    if (takesNoValues(field, key)) throw sourceRefusal('source_refused', sayTakesNone(name, field));
  }
}

const lacking = (stream: string, property: string) =>
  sourceRefusal('source_refused', `HubSpot has no property ${property} of ${stream}: make it, or leave it out`);

/** Returns a record as it is sent, or why it is not. */
function rowOf(record: SourceRecord, key: string, ordinal: number): Row | (WriteOutcome & { kind: 'failed' }) {
  const values: Record<string, string> = {};
  for (const [field, value] of Object.entries(record)) {
    const text = textOf(value);
    if (typeof text !== 'string') return { kind: 'failed', message: text.fault, later: false, field };
    values[field] = text;
  }
  const { [key]: named = '', ...rest } = values;
  // A blank address is compared as an empty one, which each contact without a further address would match.
  if (named.trim() === '') return { kind: 'failed', message: `The record has no ${key}`, later: false };
  return { ordinal, key: named, values: rest, id: null };
}

/** Returns a value as HubSpot takes it: an empty text clears. A fault continues a sentence about the value. */
function textOf(value: Json): string | { fault: string } {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return `${value}`;
  if (typeof value === 'number') {
    const read = readNumber(`${value}`);
    return read.ok ? read.value : `${value}`;
  }
  if (!Array.isArray(value)) return { fault: 'is an object, which no property of HubSpot takes' };
  const entries = value.map((entry) => (Array.isArray(entry) || entry === null ? { fault: '' } : textOf(entry)));
  const texts = entries.filter((entry) => typeof entry === 'string');
  if (texts.length < entries.length) return { fault: 'is a list with something else than texts, numbers and booleans' };
  if (texts.some((text) => text.includes(';')))
    return { fault: 'has an entry with a semicolon, by which HubSpot separates entries' };
  return texts.join(';');
}

/** Returns a key's value as HubSpot compares it: addresses without case. */
const comparable = (way: Way, value: string) => (way === 'email' ? value.trim().toLowerCase() : value);

const Written = z.object({
  results: z.array(HubspotRecord.extend({ objectWriteTraceId: z.string().nullish() })),
  errors: z.array(Fault).nullish(),
});
type Written = z.output<typeof Written>;
type WrittenRecord = Written['results'][number];

type To = {
  kind: Kind;
  /** The names of all of them. */
  properties: readonly string[];
  /** The values that a property takes; none: any. */
  choices: ReadonlyMap<string, readonly string[]>;
  way: Way;
  key: string;
  /** Values that HubSpot has refused, by property and value. */
  refused: Map<string, Failing>;
  signal: AbortSignal;
  onSending: () => void;
};
/** Outcome of a row: the record as HubSpot answered it, if it did, or what failed. */
type Answer = { record: WrittenRecord | null; isUnchanged?: true } | Failing;
/** A row that HubSpot said nothing of is missing. */
type Answers = Map<Row, Answer>;

/** Statuses by which HubSpot refuses a whole call for one of its records; 413: for all of them together. */
const OF_RECORDS = [400, 409, 413];

/** Writes the records of a part, each call after the other. */
class Writer {
  readonly #hubspot: Hubspot;
  readonly #to: To;

  constructor(hubspot: Hubspot, to: To) {
    this.#hubspot = hubspot;
    this.#to = to;
  }

  async write(rows: Row[], turns: Turns): Promise<Outcomes> {
    const { way } = this.#to;
    const nameOf = (row: Row) => (row.id === null ? `key ${comparable(way, row.key)}` : `id ${row.id}`);
    const names = (async () => {
      if (way === 'email') await this.#lookUp(rows);
      return new Set(rows.map(nameOf));
    })();
    return turns.take(names, async () => {
      const outcomes: Outcomes = new Map();
      for (const round of roundsOf(rows, nameOf)) {
        const answers = await this.#writeRound(round);
        for (const row of round) outcomes.set(row, this.#outcomeOf(row, answers.get(row)));
      }
      return outcomes;
    });
  }

  /** Archives records; those that HubSpot does not know are gone. */
  async remove(rows: Row[]): Promise<Outcomes> {
    await this.#lookUp(rows);
    const outcomes: Outcomes = new Map(rows.map((row) => [row, UNCHANGED]));
    const known = rows.filter(({ id }) => id !== null);
    for (const round of roundsOf(known, ({ id }) => id!)) {
      const answers = await this.#send('archive', round);
      for (const row of round) outcomes.set(row, this.#outcomeOf(row, answers.get(row)));
    }
    return outcomes;
  }

  async #writeRound(rows: Row[]): Promise<Answers> {
    const { way } = this.#to;
    if (way === 'unique') return this.#send('upsert', rows);
    if (way === 'id') {
      for (const row of rows) row.id = row.key;
      return this.#send('update', rows);
    }
    const missing = rows.filter(({ id }) => id === null);
    const answers = new Map([...(await this.#update(rows)), ...(await this.#send('create', missing))]);
    // Created meanwhile, by others or by an earlier try that could not record it.
    const conflicts = missing.filter((row) => {
      const answer = answers.get(row);
      return answer !== undefined && 'fault' in answer && isConflict(answer);
    });
    await this.#lookUp(conflicts);
    return new Map([...answers, ...(await this.#update(conflicts))]);
  }

  /** Updates the contacts that were found. Their address stays: it may be a further one of theirs. */
  async #update(rows: Row[]): Promise<Answers> {
    const found = rows.filter(({ id }) => id !== null);
    const isEmpty = ({ values }: Row) => Object.keys(values).length === 0;
    const answers = await this.#send(
      'update',
      found.filter((row) => !isEmpty(row)),
    );
    for (const row of found.filter(isEmpty)) answers.set(row, { record: null, isUnchanged: true });
    return answers;
  }

  /** Finds the ids of rows by their keys; rows that HubSpot does not know keep none. */
  async #lookUp(rows: Row[]): Promise<void> {
    const { kind, way, key, signal } = this.#to;
    const byKey = Map.groupBy(rows, (row) => comparable(way, row.key));
    const properties = way === 'email' ? [EMAIL, MORE_EMAILS] : [key];
    const look = async (keys: string[]): Promise<void> => {
      if (keys.length === 0) return;
      const answer = await this.#hubspot.send({
        path: objectsPath(kind, '/batch/read'),
        body: { inputs: keys.map((id) => ({ id })), properties, ...(way === 'id' ? {} : { idProperty: key }) },
        takes: [400],
        signal,
      });
      if (answer.status === 400) {
        if (keys.length > 1) for (const half of halvesOf(keys)) await look(half); // a single one is not known
        return;
      }
      const { results, errors } = await answerAs(Written, answer);
      checkWhole(this.#hubspot.host, errors);
      for (const { id, properties: values } of results) {
        const named = way === 'id' ? [id] : [values[key] ?? '', ...(values[MORE_EMAILS] ?? '').split(';')];
        for (const row of named.flatMap((value) => byKey.get(comparable(way, value)) ?? [])) row.id = id;
      }
    };
    await look([...byKey.keys()]);
  }

  /** Sends rows in one call. One that is refused as a whole is halved until the wrong row stands alone. */
  async #send(verb: Verb, rows: Row[]): Promise<Answers> {
    const { kind, signal, onSending } = this.#to;
    const answers: Answers = new Map(rows.flatMap((row) => this.#refusedBefore(row)));
    const sent = rows.filter((row) => !answers.has(row));
    if (sent.length === 0) return answers;
    const answer = await this.#hubspot.send({
      path: objectsPath(kind, `/batch/${verb}`),
      body: { inputs: sent.map((row) => this.#inputOf(verb, row)) },
      takes: isById(verb) ? [404, ...OF_RECORDS] : OF_RECORDS,
      signal,
      onSending,
    });
    try {
      if (answer.status <= 299) return new Map([...answers, ...(await this.#answersIn(verb, sent, answer))]);
    } catch (error) {
      if (!(error instanceof TooLargeAnswer) || sent.length === 1) throw error;
    }
    if (answer.status > 299) {
      const failing = { fault: Fault.catch({}).parse((await errorJson(answer)) ?? {}), status: answer.status };
      this.#throwIfGone(failing.fault);
      if (sent.length === 1) return answers.set(sent[0]!, this.#remembered(sent[0]!, failing));
    }
    for (const half of halvesOf(sent)) {
      for (const [row, one] of await this.#send(verb, half)) answers.set(row, one);
    }
    return answers;
  }

  /** Remembers a value that HubSpot refused: records with the same one fail without a call, as calls are counted. */
  #remembered({ values }: Row, failing: Failing): Failing {
    const { code = '', property = '' } = detailOf(failing.fault, this.#to.properties);
    if (code.startsWith('INVALID_') && property in values) {
      this.#to.refused.set(JSON.stringify([property, values[property]]), failing);
    }
    return failing;
  }

  #refusedBefore(row: Row): [Row, Failing][] {
    const { refused } = this.#to;
    if (refused.size === 0) return [];
    const value = Object.entries(row.values).find((entry) => refused.has(JSON.stringify(entry)));
    return value === undefined ? [] : [[row, refused.get(JSON.stringify(value))!]];
  }

  #inputOf(verb: Verb, { ordinal, key: value, values, id }: Row): object {
    const { key } = this.#to;
    if (verb === 'archive') return { id };
    const trace = { objectWriteTraceId: `${ordinal}` };
    if (verb === 'update') return { id, properties: values, ...trace };
    const properties = { [key]: value, ...values };
    return verb === 'create' ? { properties, ...trace } : { id: value, idProperty: key, properties, ...trace };
  }

  /** Returns what an answer says of rows: by their trace ids, by their ids, or by the values of their keys. */
  async #answersIn(verb: Verb, rows: Row[], answer: GuardedAnswer): Promise<Answers> {
    if (answer.status === 204) return new Map(rows.map((row) => [row, { record: null }]));
    const { way, key } = this.#to;
    const { results, errors } = await answerAs(Written, answer);
    const byId = isById(verb);
    const byTrace = new Map(rows.map((row) => [`${row.ordinal}`, row]));
    const byName = new Map(rows.map((row) => [byId ? row.id! : comparable(way, row.key), row]));
    const nameOf = (value: string) => (byId ? value : comparable(way, value));
    const answers: Answers = new Map();
    for (const record of results) {
      const named = nameOf(byId ? record.id : (record.properties[key] ?? ''));
      const row = byTrace.get(record.objectWriteTraceId ?? '') ?? byName.get(named);
      if (row) answers.set(row, { record });
    }
    for (const fault of errors ?? []) {
      this.#throwIfGone(fault);
      const { objectWriteTraceId: traces = [], ids = [] } = fault.context ?? {};
      const named = [...traces.map((trace) => byTrace.get(trace)), ...ids.map((id) => byName.get(nameOf(id)))];
      for (const row of rows.length === 1 ? rows : named) if (row) answers.set(row, { fault, status: answer.status });
    }
    return answers;
  }

  /** Refuses to go on once a property is gone: all records would fail for it. */
  #throwIfGone(fault: Fault): void {
    const { kind, properties } = this.#to;
    const { code, property } = detailOf(fault, properties);
    if (code === 'PROPERTY_DOESNT_EXIST' && property !== undefined) throw lacking(kind.name, property);
  }

  #outcomeOf(row: Row, answer: Answer | undefined): WriteOutcome {
    const { properties, choices, way, key } = this.#to;
    if (answer === undefined) return NO_WORD;
    if ('fault' in answer) {
      const fields = [key, ...Object.keys(row.values)];
      return outcomeOfFault(answer, { fields, properties, choices, idField: way === 'id' ? key : null });
    }
    if (answer.isUnchanged) return UNCHANGED;
    return answer.record === null ? OK : outcomeOfStage(row, answer.record);
  }
}

const OK: WriteOutcome = { kind: 'ok' };
const UNCHANGED: WriteOutcome = { kind: 'unchanged' };
const NO_WORD: WriteOutcome = { kind: 'failed', message: 'HubSpot answered without a word on it', later: true };

/** Fails a record whose stage was kept back, and whose other values were taken. */
function outcomeOfStage({ values }: Row, { properties }: WrittenRecord): WriteOutcome {
  const { [STAGE]: sent } = values;
  const { [STAGE]: kept } = properties;
  if (sent === undefined || kept === undefined || (kept ?? '') === sent) return OK;
  const message = 'was not taken: HubSpot never moves it backward, and kept the stage that the record has';
  return { kind: 'failed', message, later: false, field: STAGE };
}
