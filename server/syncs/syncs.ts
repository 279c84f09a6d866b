/** The routes of syncs: list, create, validate, change, delete. */
import { isDeepStrictEqual } from 'node:util';
import * as api from '../../api/syncs/syncs.ts';
import { connectorOf } from '../../connectors/catalog.ts';
import { type FieldError, collectErrors, refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { type GivenMapping, mappingErrors } from '../../domain/syncs/mapping-errors.ts';
import { type Mapping, mayWrite } from '../../domain/syncs/record-mapping.ts';
import type { SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { findUser } from '../../store/accounts/users.ts';
import { findSor } from '../../store/attributes/systems-of-records.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { type Connection, findConnection, lockConnection } from '../../store/syncs/connections.ts';
import type { NewSync, Sync, SyncAlerts, SyncDestination } from '../../store/syncs/sync-record.ts';
import { hasRecords } from '../../store/syncs/sync-records.ts';
import { cancelRunsOf, findOpenRun } from '../../store/syncs/sync-runs.ts';
import {
  countSyncs,
  deleteSync,
  updateSyncCursor,
  findSync,
  insertSync,
  isSyncNameTaken,
  listSyncs,
  lockSync,
  updateKnownFields,
  updateReadFields,
  updateSync,
} from '../../store/syncs/syncs.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { followSyncSoon } from '../jobs/start-soon.ts';
import { requireAlertConnections } from './connection-record.ts';
import { knownSync, showDefinition, showSync, showSyncs } from './sync-record.ts';

const DEFAULTS = { removalLimit: 50, alerts: { connections: [], failedRecords: null, pauseAfter: 5 } };

/**
 * Returns the definition after a request: missing members are those of `before`, or defaults. Locks its parts until the
 * transaction ends. Refuses unfit parts by their wire elements.
 */
async function readDefinition(
  tx: Queryable,
  entityId: number,
  body: api.SyncChange,
  before: NewSync | null,
  defaultEmails: string[],
): Promise<NewSync> {
  const errors: FieldError[] = [];
  const source = body.source ? await collectErrors(errors, () => readSource(tx, entityId, body.source!)) : null;
  const destination = body.destination
    ? await collectErrors(errors, () => readDestination(tx, entityId, body.destination!))
    : before!.destination;
  const toAttributes = body.destination ? body.destination.sor !== undefined : 'sorId' in before!.destination;
  const mapping = await collectErrors(errors, () => readMapping(body, before, toAttributes));
  const schedule = await collectErrors(errors, () => readSchedule(body.schedule, before?.schedule ?? null));
  const mode = body.mode ?? before?.mode ?? 'full';
  const sync: Omit<NewSync, 'destination' | 'mapping'> = {
    name: body.name ?? before!.name,
    connectionId: source?.connectionId ?? before?.connectionId ?? NONE,
    stream: source?.stream ?? before?.stream ?? '',
    mode,
    cursorField: body.cursor_field === undefined ? (before?.cursorField ?? null) : body.cursor_field,
    removes: body.removes ?? before?.removes ?? false,
    removalLimit: body.removal_limit ?? before?.removalLimit ?? DEFAULTS.removalLimit,
    schedule,
    schemaRule: body.on_schema_change ?? before?.schemaRule ?? 'ignore',
    alerts: readAlerts(body.alerts, before?.alerts ?? { ...DEFAULTS.alerts, emails: defaultEmails }),
  };
  await collectErrors(errors, () =>
    requireAlertConnections(tx, entityId, sync.alerts.connections, 'alerts.connections'),
  );
  if (mode === 'full') sync.cursorField = null;
  const read = source ?? (before && (await findConnection(tx, entityId, before.connectionId)));
  const reportsDeletions = read !== null && connectorOf(read).source?.reportsDeletions === true;
  refuseFields([...errors, ...misfits({ ...sync, destination, mapping, reportsDeletions }, body)]);
  return { ...sync, destination: destination!, mapping: mapping! };
}

/** Number of streams of a source that is refused. */
const NONE = 0;

type Parts = Pick<NewSync, 'mode' | 'removes' | 'schemaRule'> & {
  destination: SyncDestination | null;
  mapping: Mapping | null;
  reportsDeletions: boolean;
};

/** Returns errors of parts that are right in themselves but do not go together. */
function misfits(parts: Parts, body: api.SyncChange): FieldError[] {
  const { mode, removes, destination, schemaRule, mapping, reportsDeletions } = parts;
  const errors: FieldError[] = [];
  if (mode === 'full' && typeof body.cursor_field === 'string') {
    errors.push({
      element: 'cursor_field',
      message: 'is of incremental readings: say mode: incremental, or leave it out',
    });
  }
  if (removes && mode === 'incremental' && !reportsDeletions) {
    errors.push({
      element: 'removes',
      message: 'is of full readings with this source: its incremental ones cannot tell what has vanished',
    });
  }
  if (removes && destination !== null && 'connectionId' in destination && destination.key.length === 0) {
    errors.push({ element: 'destination.key', message: 'is needed by removes: it names what is to be removed' });
  }
  // A sync of an earlier version may lack it: other members can still be changed.
  const isGiven = body.destination !== undefined || body.mapping !== undefined;
  if (isGiven && mapping !== null && destination !== null && 'connectionId' in destination) {
    for (const field of destination.key.filter((name) => !mayWrite(mapping, name))) {
      errors.push({
        element: 'destination.key',
        message: `names ${quote(field)}, which the mapping does not write: add an entry to it, or leave it out of the key`,
      });
    }
  }
  if (schemaRule === 'follow' && mapping?.otherFields === 'drop') {
    errors.push({ element: 'on_schema_change', message: 'follow takes new fields: keep other_fields, or say ignore' });
  }
  return errors;
}

async function readSource(
  tx: Queryable,
  entityId: number,
  { connection, stream }: { connection: string; stream: string },
) {
  const found = await knownConnection(tx, entityId, connection, 'source');
  return { connectionId: found.id, connector: found.connector, stream };
}

async function knownConnection(
  tx: Queryable,
  entityId: number,
  identifier: string,
  side: 'source' | 'destination',
): Promise<Connection> {
  const found =
    (await lockConnection(tx, entityId, identifier)) ??
    refuseField(`${side}.connection`, 'is no identifier of a connection here: GET /api/connections lists them');
  if (!connectorOf(found)[side]) refuseField(`${side}.connection`, `is of ${found.connector}, which is no ${side}`);
  return found;
}

async function readDestination(
  tx: Queryable,
  entityId: number,
  { sor, connection, stream, key = [] }: NonNullable<api.SyncChange['destination']>,
): Promise<SyncDestination> {
  if ((sor === undefined) === (connection === undefined)) {
    return refuseField('destination', 'must have either sor, or connection and stream');
  }
  if (sor !== undefined) {
    if (stream !== undefined)
      return refuseField('destination.stream', 'is of a connection: a System of Record has none');
    if (key.length > 0)
      return refuseField('destination.key', 'is of a connection: for a System of Record say mapping.customer');
    const found =
      (await findSor(tx, entityId, sor)) ??
      refuseField(
        'destination.sor',
        'is no identifier of a System of Record here: GET /api/system_of_records lists them',
      );
    return { sorId: found.id };
  }
  if (stream === undefined) return refuseField('destination.stream', 'is required with connection');
  const twice = key.find((field, index) => key.indexOf(field) !== index);
  if (twice !== undefined) return refuseField('destination.key', `has ${twice} twice`);
  const found = await knownConnection(tx, entityId, connection!, 'destination');
  return { connectionId: found.id, stream, key };
}

function readMapping({ mapping: body }: api.SyncChange, before: NewSync | null, needsCustomer: boolean): Mapping {
  const given = body || !before ? givenMapping(body ?? {}) : before.mapping;
  refuseFields(mappingErrors(given, { needsCustomer }));
  return given as Mapping;
}

function readSchedule(body: api.SyncChange['schedule'], before: SyncSchedule | null): SyncSchedule | null {
  return body === undefined ? before : body && api.givenSchedule(body);
}

function readAlerts(body: api.SyncChange['alerts'], before: SyncAlerts): SyncAlerts {
  return {
    emails: body?.emails ?? before.emails,
    connections: body?.connections ?? before.connections,
    failedRecords: body?.failed_records === undefined ? before.failedRecords : body.failed_records,
    pauseAfter: body?.pause_after === undefined ? before.pauseAfter : body.pause_after,
  };
}

/** Returns whether both name records in the same way: once some are known it stays. */
function isOfSameRecords(before: NewSync, after: NewSync): boolean {
  const named = ({ connectionId, stream, destination, mapping }: NewSync) => [
    connectionId,
    stream,
    destination,
    mapping.customer,
  ];
  return isDeepStrictEqual(named(before), named(after));
}

const NAME_TAKEN = 'is the name of another sync already';

const listTheSyncs = route(api.listSyncs, async ({ query, caller: { entityId } }, { db, settings }) => {
  const syncs = await listSyncs(db, entityId, rowsOf(query));
  return showPage(
    settings,
    api.listSyncs.path,
    query,
    await countSyncs(db, entityId),
    await showSyncs(db, entityId, syncs, new Date()),
  );
});

const viewSync = route(api.viewSync, async ({ params: { sync_id }, caller }, { db }) => {
  return showSync(db, await knownSync(db, caller.entityId, sync_id));
});

const createSync = route(api.createSync, async ({ body, keepReply, log, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  let made: Sync | null = null;
  const answer = await write(deps.db, async (tx) => {
    const definition = await readDefinition(tx, entityId, body, null, await emailsOf(tx, who.caller));
    made = (await insertSync(tx, entityId, definition, userId)) ?? refuseField('name', NAME_TAKEN);
    await audit(tx, who, { action: 'create', subjectKind: 'sync', subject: made.identifier });
    return keepReply(tx, await showSync(tx, made));
  });
  await followSyncSoon(deps, log, made!);
  return answer;
});

const validateSync = route(api.validateSync, async ({ body: { sync_id, ...body }, keepReply, caller }, { db }) => {
  return write(db, async (tx) => {
    const before = sync_id === undefined ? null : await knownSync(tx, caller.entityId, sync_id);
    const emails = before?.alerts.emails ?? (await emailsOf(tx, caller));
    const definition = await readDefinition(tx, caller.entityId, body, null, emails);
    if (before) await refuseOtherRecords(tx, before, definition);
    if (await isSyncNameTaken(tx, caller.entityId, definition.name, before?.id ?? null))
      refuseField('name', NAME_TAKEN);
    return keepReply(tx, { valid: true as const, definition: await showDefinition(tx, caller.entityId, definition) });
  });
});

const changeSync = route(api.updateSync, async ({ params: { sync_id }, body: given, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const { revision, ...body } = given;
  const after = await write(
    deps.db,
    async (tx) => {
      const before = await knownSync(tx, entityId, sync_id, lockSync);
      await refuseOlderRevision(tx, entityId, 'sync', before, revision);
      const definition = await readDefinition(tx, entityId, body, before, []);
      await refuseOtherRecords(tx, before, definition);
      await refuseUnderWay(tx, before, definition);
      if (!(await updateSync(tx, entityId, before.id, definition))) refuseField('name', NAME_TAKEN);
      await forgetWhatChanged(tx, before, definition);
      await audit(tx, who, {
        action: 'update',
        subjectKind: 'sync',
        subject: sync_id,
        details: { members: Object.keys(body).join(' ') },
      });
      return (await findSync(tx, entityId, sync_id))!;
    },
    { collide: true },
  );
  await followSyncSoon(deps, log, after);
  return showSync(deps.db, after);
});

const deleteTheSync = route(api.deleteSync, async ({ params: { sync_id }, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const deleted = await write(deps.db, async (tx) => {
    const sync = await knownSync(tx, entityId, sync_id, lockSync);
    await cancelRunsOf(tx, entityId, sync.id, 'all');
    await deleteSync(tx, entityId, sync.id);
    await audit(tx, who, { action: 'delete', subjectKind: 'sync', subject: sync_id });
    return sync;
  });
  await followSyncSoon(deps, log, { ...deleted, schedule: null });
  return noResult();
});

/** Returns the default recipients of alerts: the sync's author; a machine has no address. */
async function emailsOf(tx: Tx, { userId, serviceTokenId }: Caller): Promise<string[]> {
  const user = serviceTokenId === null ? await findUser(tx, userId) : null;
  return user ? [user.email] : [];
}

/** Refuses a change after which known records would be taken for others. */
async function refuseOtherRecords(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (isOfSameRecords(before, after) || !(await hasRecords(tx, before.entityId, before.id))) return;
  refuse(
    409,
    'conflict',
    'source, destination and mapping.customer name the records, of which some were written: make another sync',
  );
}

/** Refuses changes during a run, which continues from its cursor and its seen records. */
async function refuseUnderWay(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (isOfSameRecords(before, after) && isSameReading(before, after) && before.removes === after.removes) return;
  const run = await findOpenRun(tx, { entityId: before.entityId, syncId: before.id }, 'under way');
  if (run === null) return;
  refuse(
    409,
    'conflict',
    'source, destination, mapping.customer, mode, cursor_field and removes stay while a run is under way: ' +
      `cancel ${run}, or wait for its end`,
  );
}

function isSameReading(before: NewSync, after: NewSync): boolean {
  return isSameSource(before, after) && before.mode === after.mode && before.cursorField === after.cursorField;
}

function isSameSource(before: NewSync, after: NewSync): boolean {
  return before.connectionId === after.connectionId && before.stream === after.stream;
}

/** Forgets fields of another stream, and a cursor of another reading. */
async function forgetWhatChanged(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (!isSameSource(before, after)) {
    await updateKnownFields(tx, before.entityId, before.id, null);
    await updateReadFields(tx, before.entityId, before.id, null);
  }
  if (!isSameReading(before, after)) await updateSyncCursor(tx, before, null);
}

export const syncRoutes: Route[] = [listTheSyncs, viewSync, createSync, validateSync, changeSync, deleteTheSync];

function givenMapping({
  customer = null,
  fields = [],
  other_fields,
  empty,
}: NonNullable<api.SyncChange['mapping']>): GivenMapping {
  return {
    customer: customer && { field: customer.field, type: customer.type ?? 'user_id' },
    fields: fields.map(api.givenField),
    otherFields: other_fields ?? (fields.length === 0 ? 'keep' : 'drop'),
    empty: empty ?? 'fail',
  };
}
