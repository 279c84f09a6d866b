import * as api from '../../api/syncs/syncs.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { findUser } from '../../store/accounts/users.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { NewSync, Sync } from '../../store/syncs/sync-record.ts';
import { hasRecords } from '../../store/syncs/sync-records.ts';
import { cancelRunsOf, findRunUnderWay } from '../../store/syncs/sync-runs.ts';
import {
  countSyncs,
  deleteSync,
  deleteSyncCursor,
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
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { followSyncSoon } from '../jobs/start-soon.ts';
import { isOfSameRecords, readDefinition } from './sync-definition.ts';
import { knownSync, showDefinition, showSync, showSyncs } from './sync-record.ts';

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

const changeSync = route(api.updateSync, async ({ params: { sync_id }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const after = await write(
    deps.db,
    async (tx) => {
      const before = await knownSync(tx, entityId, sync_id, lockSync);
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

/** By default its maker is told; a machine has no address. */
async function emailsOf(tx: Tx, { userId, serviceTokenId }: Caller): Promise<string[]> {
  const user = serviceTokenId === null ? await findUser(tx, userId) : null;
  return user ? [user.email] : [];
}

/** What is known of records would be taken for what is known of others. */
async function refuseOtherRecords(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (isOfSameRecords(before, after) || !(await hasRecords(tx, before.entityId, before.id))) return;
  refuse(
    409,
    'conflict',
    'source, destination and mapping.customer name the records, of which some were written: make another sync',
  );
}

/** A run that has begun continues from its cursor and by what it has seen: both would be of something else. */
async function refuseUnderWay(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (isOfSameRecords(before, after) && isSameReading(before, after) && before.removes === after.removes) return;
  const run = await findRunUnderWay(tx, before.entityId, before.id);
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

/** Another stream has other fields, and a cursor by another field leads nowhere. */
async function forgetWhatChanged(tx: Tx, before: Sync, after: NewSync): Promise<void> {
  if (!isSameSource(before, after)) {
    await updateKnownFields(tx, before.entityId, before.id, null);
    await updateReadFields(tx, before.entityId, before.id, null);
  }
  if (!isSameReading(before, after)) await deleteSyncCursor(tx, before.entityId, before.id);
}

export const syncRoutes: Route[] = [listTheSyncs, viewSync, createSync, validateSync, changeSync, deleteTheSync];
