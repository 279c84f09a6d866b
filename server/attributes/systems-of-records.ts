/** The routes of Systems of Records: list, create, rename, disable, delete, alert addresses. */
import type { z } from 'zod';
import * as api from '../../api/attributes/systems-of-records.ts';
import { refuse } from '../../domain/core/refusal.ts';
import {
  deleteSor,
  findNotifyEmails,
  insertAppSor,
  insertCustomSor,
  lockSor,
  renameSor,
  type SorView,
  streamSors,
  type SystemOfRecord,
  updateNotifyEmails,
  updateSorDisabled,
  viewSors,
} from '../../store/attributes/systems-of-records.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { listSyncsThatUse } from '../../store/syncs/syncs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type ApiVersion, type Circumstances, type Route, route } from '../http/route.ts';
import { audit, auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { noResult, type Reply, streamedList } from '../http/reply.ts';
import { refuseWhileUsed } from '../http/while-used.ts';
import { findVisibleSor, isVisible, showAttribute } from './sor-record.ts';

const TYPES = ['app', 'custom', 'global'] as const;

const listSystemsOfRecords = route(
  api.listSystemsOfRecords,
  async ({ query, version, ...who }, { db, secrets, streamedLists }) => {
    const types = TYPES.filter((type) => isVisible({ type }, version) && (query.type?.includes(type) ?? true));
    const pieces = streamSors(db, secrets, who.caller.entityId, types);
    return streamedList(
      streamedLists.shown(who, pieces, async (piece) => {
        if (query.secrets) await writeDownKeys(db, who, piece);
        return piece.map((sor) => showViewed(sor, version, query.secrets));
      }),
    );
  },
);

const viewSystemOfRecord = route(
  api.viewSystemOfRecord,
  async ({ params: { sor_identifier }, query, version, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    const found = await findVisibleSor(db, entityId, sor_identifier, version);
    const [sor] = await viewSors(db, secrets, entityId, [found]);
    if (query.secrets) await writeDownKeys(db, who, [sor!]);
    return showViewed(sor!, version, query.secrets);
  },
);

const createSystemOfRecord = route(
  api.createSystemOfRecord,
  async ({ body, version, keepReply, ...who }, { db, secrets }) => {
    const { entityId, userId } = who.caller;
    return write(db, async (tx) => {
      const sor = await insertCustomSor(tx, secrets, entityId, body.name, userId);
      await audit(tx, who, { action: 'create', subjectKind: 'system_of_record', subject: sor.identifier });
      const shown = showSor((await viewSors(tx, secrets, entityId, [sor]))[0]!, version);
      return keepReply(tx, shown, { secretOf: sor.identifier }); // it shows the SoR's key
    });
  },
);

const renameSystemOfRecord = route(
  api.renameSystemOfRecord,
  async ({ params: { sor_identifier }, body, version, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const found = await findVisibleSor(tx, entityId, sor_identifier, version, lockSor);
      if (found.type !== 'custom') refuse(400, 'bad_request', 'Only custom systems of records can be modified');
      const sor = await renameSor(tx, entityId, found.id, body.name);
      const details = { name: true };
      await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
      const [renamed] = await viewSors(tx, secrets, entityId, [sor]);
      await writeDownKeys(tx, who, [renamed!]);
      return showSor(renamed!, version);
    });
  },
);

const deleteSystemOfRecord = route(
  api.deleteSystemOfRecord,
  async ({ params: { sor_identifier }, version, ...who }, { db }) => {
    await write(db, async (tx) => {
      const sor = await findVisibleSor(tx, who.caller.entityId, sor_identifier, version, lockSor);
      if (sor.type === 'global') refuse(400, 'bad_request', 'The global system of record cannot be deleted');
      refuseWhileUsed('System of Record', await listSyncsThatUse(tx, who.caller.entityId, { sorId: sor.id }));
      await deleteSor(tx, who.caller.entityId, sor.id);
      if (sor.appId !== null) await insertAppSor(tx, who.caller.entityId, sor.appId);
      await audit(tx, who, { action: 'delete', subjectKind: 'system_of_record', subject: sor.identifier });
    });
    return noResult();
  },
);

const disableSystemOfRecord = route(api.disableSystemOfRecord, (input, deps) => switchSor(input, deps, true));

const enableSystemOfRecord = route(api.enableSystemOfRecord, (input, deps) => switchSor(input, deps, false));

type Switch = Circumstances & { params: z.output<typeof api.sorParams>; caller: Caller };

async function switchSor(
  { params: { sor_identifier }, version, ...who }: Switch,
  { db }: RouteDependencies,
  disabled: boolean,
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

/** Refuses both as API errors (reference: States and transitions). */
function refuseSwitch(sor: SystemOfRecord, disabled: boolean): void {
  if (sor.type === 'global' && disabled) refuse(400, 'bad_request', 'The global system of record cannot be disabled');
  if (sor.disabled === disabled) {
    refuse(400, 'bad_request', `System of record is already ${disabled ? 'disabled' : 'enabled'}`);
  }
}

const viewNotifyEmails = route(
  api.viewNotifyEmails,
  async ({ params: { sor_identifier }, caller, version }, { db }) => {
    const sor = await findVisibleSor(db, caller.entityId, sor_identifier, version);
    return { notify_emails: await findNotifyEmails(db, caller.entityId, sor.id) };
  },
);

const changeNotifyEmails = route(
  api.updateNotifyEmails,
  async ({ params: { sor_identifier }, body, version, ...who }, { db }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const sor = await findVisibleSor(tx, entityId, sor_identifier, version, lockSor);
      await updateNotifyEmails(tx, entityId, sor.id, body.notify_emails);
      const details = { notifyEmails: body.notify_emails.length };
      await audit(tx, who, { action: 'update', subjectKind: 'system_of_record', subject: sor.identifier, details });
      return { notify_emails: await findNotifyEmails(tx, entityId, sor.id) };
    });
  },
);

export const systemOfRecordsRoutes: Route[] = [
  listSystemsOfRecords,
  viewSystemOfRecord,
  createSystemOfRecord,
  renameSystemOfRecord,
  deleteSystemOfRecord,
  disableSystemOfRecord,
  enableSystemOfRecord,
  viewNotifyEmails,
  changeNotifyEmails,
];

/** Audits Systems of Records whose keys are shown. */
async function writeDownKeys(
  db: Queryable,
  who: { caller: Caller; address: string },
  sors: readonly SorView[],
): Promise<void> {
  const shown = sors.filter(({ apiKeys }) => apiKeys.length > 0);
  if (shown.length === 0) return;
  await auditEach(
    db,
    who,
    shown.map(({ identifier: subject }) => ({
      action: 'read',
      subjectKind: 'system_of_record',
      subject,
      details: { api_keys: true },
    })),
  );
}

function showViewed(sor: SorView, version: ApiVersion, withSecrets: boolean): api.ViewedSystemOfRecords {
  const { api_keys, ...record } = showSor(sor, version);
  return withSecrets ? { ...record, api_keys } : record;
}

function showSor(sor: SorView, version: ApiVersion): api.SystemOfRecords {
  const record = {
    name: sor.name,
    identifier: sor.identifier,
    type: sor.type,
    api_keys: sor.apiKeys,
    attributes_count: sor.attributes.length,
    disabled: sor.disabled,
    customer_attributes: sor.attributes.map((attribute) => showAttribute(attribute, sor.type, version)),
  };
  return version === 3 ? record : { ...record, updated_date: sor.updatedAt.toISOString() };
}
