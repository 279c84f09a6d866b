import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import {
  deleteSor, insertAppSor, insertCustomSor, listSors, lockSor, renameSor, type SystemOfRecord, updateSorDisabled, viewSors,
} from '../../store/attributes/systems-of-records.ts';
import { write } from '../../store/core/database.ts';
import { listSyncsInto } from '../../store/syncs/syncs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { commaList, identifier, name } from '../http/input.ts';
import { noResult, type Reply } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { refuseWhileUsed } from '../http/while-used.ts';
import { findVisibleSor, isVisible, showSor, SorRecord } from './sor-record.ts';

const TYPES = ['app', 'custom', 'global'] as const;
const SHARED = { tag: 'Systems of Records', right: 'sor_manage' } as const;
const params = z.object({ sor_identifier: identifier });

const listSystemsOfRecords = route({
  ...SHARED,
  method: 'GET',
  path: '/api/system_of_records',
  summary: 'List Systems of Records',
  query: z.object({
    type: commaList.optional().describe('app, custom, or global (v2 only); any other type lists nothing'),
  }),
  result: z.array(SorRecord),
  async handle({ query, caller, version }, { db, secrets }) {
    const types = TYPES.filter((type) => isVisible({ type }, version) && (query.type?.includes(type) ?? true));
    const sors = await listSors(db, caller.entityId, types);
    return (await viewSors(db, secrets, caller.entityId, sors)).map((sor) => showSor(sor, version));
  },
});

const viewSystemOfRecord = route({
  ...SHARED,
  method: 'GET',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'View a System of Records with its customer attributes',
  params,
  result: SorRecord,
  async handle({ params: { sor_identifier }, caller, version }, { db, secrets }) {
    const sor = await findVisibleSor(db, caller.entityId, sor_identifier, version);
    return showSor((await viewSors(db, secrets, caller.entityId, [sor]))[0]!, version);
  },
});

const createSystemOfRecord = route({
  ...SHARED,
  method: 'POST',
  path: '/api/system_of_records',
  summary: 'Create a custom System of Records',
  body: z.object({ name }),
  result: SorRecord,
  async handle({ body, version, keepReply, ...who }, { db, secrets }) {
    const { entityId, userId } = who.caller;
    return write(db, async (tx) => {
      const sor = await insertCustomSor(tx, secrets, entityId, body.name, userId);
      await audit(tx, who, { action: 'create', subjectKind: 'system_of_record', subject: sor.identifier });
      const shown = showSor((await viewSors(tx, secrets, entityId, [sor]))[0]!, version);
      return keepReply(tx, shown, { secretOf: sor.identifier });        // it shows the SoR's key
    });
  },
});

const renameSystemOfRecord = route({
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'Rename a custom System of Records',
  params,
  body: z.object({ name }),
  result: SorRecord,
  async handle({ params: { sor_identifier }, body, version, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const found = await findVisibleSor(tx, entityId, sor_identifier, version, lockSor);
      if (found.type !== 'custom') refuse(400, 'bad_request', 'Only custom systems of records can be modified');
      const sor = await renameSor(tx, entityId, found.id, body.name);
      const details = { name: true };
      await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
      return showSor((await viewSors(tx, secrets, entityId, [sor]))[0]!, version);
    });
  },
});

const deleteSystemOfRecord = route({
  ...SHARED,
  method: 'DELETE',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'Delete a System of Records and all its values',
  description: 'In the place of an SDK\'s comes a new one at once: disabling it is what stops what the SDK sends from being kept.',
  params,
  async handle({ params: { sor_identifier }, version, ...who }, { db }) {
    await write(db, async (tx) => {
      const sor = await findVisibleSor(tx, who.caller.entityId, sor_identifier, version, lockSor);
      if (sor.type === 'global') refuse(400, 'bad_request', 'The global system of record cannot be deleted');
      refuseWhileUsed('System of Record', await listSyncsInto(tx, who.caller.entityId, sor.id));
      await deleteSor(tx, who.caller.entityId, sor.id);
      if (sor.appId !== null) await insertAppSor(tx, who.caller.entityId, sor.appId);
      await audit(tx, who, { action: 'delete', subjectKind: 'system_of_record', subject: sor.identifier });
    });
    return noResult();
  },
});

const disableSystemOfRecord = route({
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier/disable',
  summary: 'Disable a System of Records',
  description: 'All its attributes then count as disabled.',
  params,
  handle: (input, deps) => switchSor(input, deps, true),
});

const enableSystemOfRecord = route({
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier/enable',
  summary: 'Enable a System of Records',
  params,
  handle: (input, deps) => switchSor(input, deps, false),
});

type Switch = Circumstances & { params: z.output<typeof params>; caller: Caller };

async function switchSor(
  { params: { sor_identifier }, version, ...who }: Switch, { db }: RouteDependencies, disabled: boolean,
): Promise<Reply> {
  await write(db, async (tx) => {
    const sor = await findVisibleSor(tx, who.caller.entityId, sor_identifier, version, lockSor);
    refuseSwitch(sor, disabled);
    await updateSorDisabled(tx, who.caller.entityId, sor.id, disabled);
    const details = { disabled };
    await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
  });
  return noResult();
}

/** Both are API errors (reference: States and transitions). */
function refuseSwitch(sor: SystemOfRecord, disabled: boolean): void {
  if (sor.type === 'global' && disabled) refuse(400, 'bad_request', 'The global system of record cannot be disabled');
  if (sor.disabled === disabled) {
    refuse(400, 'bad_request', `System of record is already ${disabled ? 'disabled' : 'enabled'}`);
  }
}

export const systemOfRecordsRoutes: Route[] = [
  listSystemsOfRecords, viewSystemOfRecord, createSystemOfRecord, renameSystemOfRecord, deleteSystemOfRecord,
  disableSystemOfRecord, enableSystemOfRecord,
];
