// Compares a source's fields with the known ones before and during reading, and follows the sync's rule: ignore, follow
// or stop.
import { isDeepStrictEqual } from 'node:util';
import { closest } from 'fastest-levenshtein';
import { type ConnectorContext, sayTakesNone, type Stream, takesNoValues } from '../../connectors/core/contract.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import {
  joinChanges,
  type NamedField,
  sayChange,
  type SchemaChange,
  schemaChange,
  toldFields,
  UNTOLD,
  untoldOf,
} from '../../domain/syncs/schema-change.ts';
import { targetsOf } from '../../domain/syncs/record-mapping.ts';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import { isLongerThan, MAX_CODE_POINTS, shorten } from '../../domain/text/text-limits.ts';
import { insertCustomerAttribute } from '../../store/attributes/customer-attributes.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { updateRunBegun, updateSchemaChange } from '../../store/syncs/sync-run-progress.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import { updateKnownFields, updateReadFields } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RunScope, SyncEnds, SyncJob } from './job.ts';
import { storable } from './stored-size.ts';

/** Checks the source's fields before it is read, applies the sync's rule to changes, and begins the run. */
export async function lookAtSchema(deps: Dependencies, job: SyncJob, ends: SyncEnds, scope: RunScope): Promise<void> {
  const { connector, settings } = ends.source;
  const { stream: asked } = job.sync;
  const streams = await connector.source!.discover(settings, scope.context, asked);
  const why = streams.some(({ name }) => name === asked)
    ? ''
    : await faultOf(connector.source!.check(settings, scope.context)); // such as a right that is missing for it
  const stream = streamNamed(streams, asked, 'source', why);
  const inVain = fieldsNamedInVain(job.sync, stream).map((name) => shorten(name));
  if (inVain.length > 0) scope.log(sayInVain(inVain, stream));
  if (job.run.dryRun) await checkDestination(job.sync, ends, scope.context);
  await takeKnown(deps, job, stream.fields, scope);
  await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (!run) throw new JobGone();
    await updateRunBegun(tx, run, {
      position: job.sync.mode === 'incremental' ? run.cursorBefore : null,
      missingFields: inVain,
    });
  });
}

/** Compares the fields that the source declares before it is read with those it declared before the last run. */
async function takeKnown(
  deps: Dependencies,
  job: SyncJob,
  told: readonly NamedField[],
  scope: RunScope,
): Promise<void> {
  const { sync } = job;
  const fields = fieldsAt(named(told), sync.knownFields ?? []);
  const isFirst = takesAsTheyAre(sync);
  const change = schemaChange(isFirst ? fields : sync.knownFields!, fields);
  await takeFields(
    deps,
    job,
    { fields, isFirst, change, keep: (tx) => updateKnownFields(tx, sync.entityId, sync.id, fields) },
    scope,
  );
}

/**
 * Returns a function that compares fields reported while reading with those of earlier readings. A missing field may
 * still come, so it is no change.
 */
export function takeWhileRead(
  deps: Dependencies,
  job: SyncJob,
  scope: RunScope,
): (told: readonly NamedField[]) => Promise<void> {
  const { sync } = job;
  const isFirst = sync.readFields === null;
  let known = sync.readFields ?? [];
  return async (told) => {
    const fields = named(told);
    const after = storable(toldFields(fields, known), 'list of fields');
    const change = isFirst ? null : schemaChange(known, after);
    if (isFirst || sync.schemaRule === 'follow') known = after;
    const keep = (tx: Tx) => updateReadFields(tx, sync.entityId, sync.id, after);
    await takeFields(deps, job, { fields, isFirst, change, keep }, scope);
  };
}

/** Returns the fields as they are stored. Refuses too many. */
export function named(told: readonly NamedField[]): NamedField[] {
  return storable(
    told.map(({ name, type }) => ({ name: shorten(name), type })),
    'list of fields',
  );
}

/** Returns the schema change of a run, joined with the one stored before. Refuses one that is too large. */
export function noticedChange(before: SchemaChange | null, change: SchemaChange | null): SchemaChange | null {
  const noticed = joinChanges(before, change);
  return noticed && storable(noticed, 'change of fields');
}

type Told = { fields: NamedField[]; isFirst: boolean; change: SchemaChange | null; keep: (tx: Tx) => Promise<void> };

/** Stores a schema change and applies the sync's rule to it: keeps the fields, makes attributes, or stops the run. */
async function takeFields(
  deps: Dependencies,
  { key, sync }: SyncJob,
  { fields, isFirst, change, keep }: Told,
  scope: RunScope,
): Promise<void> {
  const isStopped = change !== null && sync.schemaRule === 'stop';
  let isNews = false;
  const defined = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, key);
    if (!run) throw new JobGone();
    const noticed = noticedChange(run.schemaChange, change);
    isNews = !isDeepStrictEqual(noticed, run.schemaChange);
    if (noticed && isNews) await updateSchemaChange(tx, run, noticed);
    if (run.dryRun || isStopped) return [];
    // Ignored new fields stay new until a user accepts them.
    if (isFirst || (change && sync.schemaRule === 'follow')) await keep(tx);
    return defineAttributes(tx, sync, fields);
  });
  if (change && isNews) scope.log(`the source's fields have changed: ${sayChange(change)}`);
  if (defined.length > 0) scope.log(`attributes were made for ${defined.join(', ')}`);
  if (isStopped) throw schemaRefusal(sayChange(change));
}

/**
 * Returns whether all declared fields count as known: in the first run, and in the next one after a user accepted them
 * (which leaves only fields that came in records).
 */
function takesAsTheyAre({ knownFields }: Sync): boolean {
  return knownFields === null || (knownFields.length > 0 && untoldOf(knownFields).length === knownFields.length);
}

/** Returns the refusal that stops a sync whose rule is `stop` when the source's fields have changed. */
export function schemaRefusal(change: string): Refusal {
  return new Refusal(
    409,
    'schema_changed',
    `The source's fields have changed: ${change}. Look at the mapping, then accept the fields`,
  );
}

const ATTRIBUTE_TYPES: Record<FieldType, ValueType | null> = {
  string: 'String',
  integer: 'Number',
  number: 'Number',
  boolean: 'Boolean',
  date: 'Date',
  datetime: 'Datetime',
  array: 'Set',
  object: null,
};

/** Makes an attribute for each field if the sync follows its source and keeps all fields. Returns the new keys. */
async function defineAttributes(
  tx: Tx,
  { entityId, destination, mapping, schemaRule }: Sync,
  fields: NamedField[],
): Promise<string[]> {
  if (schemaRule !== 'follow' || mapping.otherFields === 'drop' || !('sorId' in destination)) return [];
  if (!(await findSorById(tx, entityId, destination.sorId))) return [];
  const named = new Set(mapping.fields.flatMap((field) => ('from' in field ? field.from : [])));
  const made: string[] = [];
  for (const { name, type } of fields) {
    const valueType = ATTRIBUTE_TYPES[type as FieldType];
    const isKey = !isLongerThan(name, MAX_CODE_POINTS);
    if (named.has(name) || name === mapping.customer?.field || valueType === null || !isKey) continue;
    const attribute = await insertCustomerAttribute(tx, entityId, destination.sorId, {
      key: name,
      label: name,
      valueType,
    });
    if (attribute) made.push(name);
  }
  return made;
}

/** Returns the message of a refused check; empty if it was not refused. */
async function faultOf(checking: Promise<void>): Promise<string> {
  try {
    await checking;
    return '';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.message;
  }
}

/**
 * Returns the stream of that name. Refuses an unknown name, and suggests the nearest; `side` is for the message, which
 * ends with `why`.
 */
function streamNamed(streams: readonly Stream[], name: string, side: 'source' | 'destination', why = ''): Stream {
  const found = streams.find((stream) => stream.name === name);
  if (found) return found;
  const names = streams.map((stream) => stream.name);
  const message = `The ${side} has no stream ${name}${nearest(name, names)}`;
  if (why === '') throw sourceRefusal('source_refused', message);
  throw sourceRefusal('source_refused', `${message}${message.endsWith('?') ? '' : '.'} ${why}`);
}

/**
 * Refuses a mapping whose cursor field or customer field the source lacks. Returns other mapped fields that it lacks:
 * some appear only in records.
 */
function fieldsNamedInVain({ mode, cursorField, mapping }: Sync, { fields, incremental }: Stream): string[] {
  const names = fields.map((field) => field.name);
  if (names.length === 0) return [];
  const isNone = (field: string) => !names.includes(field);
  if (mode === 'incremental' && incremental !== 'own' && cursorField !== null && isNone(cursorField)) {
    throw sourceRefusal(
      'source_refused',
      `cursor_field: the source has no field ${cursorField}${nearest(cursorField, names)}`,
    );
  }
  if (mapping.customer && isNone(mapping.customer.field)) {
    const { field } = mapping.customer;
    throw sourceRefusal(
      'source_refused',
      `mapping.customer.field: the source has no field ${field}${nearest(field, names)}`,
    );
  }
  return mapping.fields.flatMap((entry) =>
    'from' in entry && !('drop' in entry) && isNone(entry.from) ? entry.from : [],
  );
}

/** Returns the log line about missing fields, each with the nearest existing name. */
function sayInVain(fields: readonly string[], { fields: there }: Stream): string {
  const names = there.map(({ name }) => name);
  return `the mapping names fields that the source does not tell of: ${fields.map((field) => field + nearest(field, names)).join(', ')}`;
}

/**
 * Refuses if the destination lacks a mapped field or takes no values for it, or finds no records by the key. Checks
 * nothing if it declares no streams.
 */
async function checkDestination(
  { destination, mapping }: Sync,
  { destination: open }: SyncEnds,
  context: ConnectorContext,
): Promise<void> {
  if (!open || 'sorId' in destination) return;
  const streams = await open.connector.destination!.discover(open.settings, context, destination.stream);
  if (streams === null) return;
  const { name, fields, keys } = streamNamed(streams, destination.stream, 'destination');
  const names = fields.map((field) => field.name);
  const written = [...destination.key, ...targetsOf(mapping)];
  const refusing = fields.find((field) => written.includes(field.name) && takesNoValues(field, destination.key));
  if (refusing !== undefined) throw sourceRefusal('source_refused', sayTakesNone(name, refusing));
  const unknown = written.find((field) => !names.includes(field));
  if (unknown !== undefined) {
    const message = `The stream ${name} of the destination has no field ${unknown}${nearest(unknown, names)}`;
    throw sourceRefusal('source_refused', message);
  }
  const asked = destination.key.toSorted().join();
  if (keys === undefined || keys.some((key) => key.toSorted().join() === asked)) return;
  const choices =
    keys.length === 0 ? 'it has no unique key' : `choose ${keys.map((key) => key.join(' with ')).join(' or ')}`;
  const message = `destination.key: ${name} is not found by ${destination.key.join(' with ') || 'no field'}: ${choices}`;
  throw sourceRefusal('source_refused', message);
}

function nearest(name: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `: did you mean ${closest(name, [...names])}?`;
}

/** Returns the fields of a source: those it declares, and known ones that came in records alone. */
function fieldsAt(told: readonly NamedField[], known: readonly NamedField[]): NamedField[] {
  const names = new Set(told.map(({ name }) => name));
  return [...told, ...known.filter(({ name, type }) => type === UNTOLD && !names.has(name))];
}
