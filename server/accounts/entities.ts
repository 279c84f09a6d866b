/** The routes of entities: list, view, create, change, delete. */
import * as api from '../../api/accounts/entities.ts';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { AuditEntry } from '../../store/accounts/audit-log.ts';
import { deleteEntity, listHoldings } from '../../store/accounts/empty-entity.ts';
import { type Entity, findEntity, insertEntity, listEntities, updateEntity } from '../../store/accounts/entities.ts';
import { insertMembership } from '../../store/accounts/users.ts';
import { type Database, type Queryable, write } from '../../store/core/database.ts';
import { listExporters, raiseExporterRevisions } from '../../store/exports/data-exporters.ts';
import { audit, auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { followExporterSoon } from '../jobs/start-soon.ts';
import { showEntity } from './account-records.ts';

const NOT_FOUND = 'Entity not found';

const listTheEntities = route(api.listEntities, async ({ query, ...who }, { db, secrets, settings }) => {
  const { items, total } = await listEntities(db, secrets, rowsOf(query));
  const shown = await viewEntities(db, who, items, query.secrets);
  const path = `${api.listEntities.path}${query.secrets ? '' : '?secrets=false'}`;
  return showPage(settings, path, query, total, shown);
});

const viewEntity = route(api.viewEntity, async ({ params: { entity_id }, query, ...who }, { db, secrets }) => {
  const entity = (await findEntity(db, secrets, entity_id)) ?? refuse(404, 'not_found', NOT_FOUND);
  return (await viewEntities(db, who, [entity], query.secrets))[0]!;
});

/** Shows entities. Audits those whose keys it shows, in the caller's entity and in their own. */
async function viewEntities(
  db: Database,
  who: { caller: Caller; address: string },
  entities: Entity[],
  withSecrets: boolean,
): Promise<api.ViewedEntity[]> {
  const shown = entities.map(showWhole);
  if (!withSecrets) return shown.map(({ qa_api_key: _qa, prod_api_key: _prod, ...entity }) => entity);
  await auditInBoth(db, who, entities, { action: 'read', details: { api_keys: true } });
  return shown;
}

/** Writes an entry for each entity into the log of the caller's entity and into its own. */
function auditInBoth(
  tx: Queryable,
  who: { caller: Caller; address: string },
  entities: readonly Pick<Entity, 'id' | 'identifier'>[],
  entry: Pick<AuditEntry, 'action' | 'details'>,
): Promise<void> {
  return auditEach(
    tx,
    who,
    entities.flatMap(({ id, identifier: subject }) =>
      [...new Set([who.caller.entityId, id])].map((inLogOf) => ({ ...entry, subjectKind: 'entity', subject, inLogOf })),
    ),
  );
}

const createEntity = route(api.createEntity, async ({ body, keepReply, ...who }, { db, secrets }) => {
  return write(db, async (tx) => {
    const entity = await insertEntity(tx, secrets, body.name, changesOf(body));
    await insertMembership(tx, { userId: who.caller.userId, entityId: entity.id, rights: [...RIGHTS], admin: true });
    await auditInBoth(tx, who, [entity], { action: 'create' });
    return keepReply(tx, showWhole(entity), { secretOf: entity.identifier }); // it shows the entity's keys
  });
});

const updateAnEntity = route(api.updateEntity, async ({ params: { entity_id }, body, log, ...who }, deps) => {
  const { db, secrets } = deps;
  let zoned: number | null = null;
  const answer = await write(db, async (tx) => {
    const entity =
      (await findEntity(tx, secrets, entity_id, { isLocked: true })) ?? refuse(404, 'not_found', NOT_FOUND);
    if (body.active === false && entity.id === who.caller.entityId) {
      refuse(400, 'bad_request', 'This token acts in the entity: deactivate it from another one');
    }
    const changed = await updateEntity(tx, secrets, entity.id, {
      ...changesOf(body),
      name: body.name,
      active: body.active,
    });
    zoned = changed.defaultTz === entity.defaultTz ? null : entity.id;
    if (zoned !== null) await raiseExporterRevisions(tx, zoned);
    const details = { changed: Object.keys(body).join(' '), active: changed.active };
    await auditInBoth(tx, who, [entity], { action: 'update', details });
    return showWhole(changed);
  });
  const exporters = zoned === null ? [] : await listExporters(db, zoned);
  await Promise.all(
    exporters.filter(({ active }) => active).map((exporter) => followExporterSoon(deps, log, exporter)),
  );
  return answer;
});

const deleteAnEntity = route(api.deleteEntity, async ({ params: { entity_id }, ...who }, { db, secrets }) => {
  await write(db, async (tx) => {
    const entity =
      (await findEntity(tx, secrets, entity_id, { isLocked: true })) ?? refuse(404, 'not_found', NOT_FOUND);
    if (entity.id === who.caller.entityId)
      refuse(400, 'bad_request', 'This token acts in the entity: delete it from another one');
    const held = await listHoldings(tx, entity.id);
    if (held.length > 0) {
      const names = held.map((table) => table.replaceAll('_', ' ')).join(', ');
      const message =
        `Only an empty entity can be deleted, and this one holds ${names}: set active to false instead, ` +
        'or try again where they are being deleted';
      refuse(400, 'bad_request', message);
    }
    await deleteEntity(tx, entity.id);
    await audit(tx, who, { action: 'delete', subjectKind: 'entity', subject: entity.identifier });
  });
  return noResult();
});

type Asked = {
  description?: string | undefined;
  default_tz?: string | undefined;
  data_retention_in_months?: number | undefined;
  control_group_percent?: number | undefined;
};

function changesOf(asked: Asked) {
  return {
    description: asked.description,
    defaultTz: asked.default_tz,
    dataRetentionInMonths: asked.data_retention_in_months,
    controlGroupPercent: asked.control_group_percent,
  };
}

function showWhole(entity: Entity): api.WholeEntity {
  return { ...showEntity(entity), default_tz: entity.defaultTz, control_group_percent: entity.controlGroupPercent };
}

export const entityRoutes: Route[] = [listTheEntities, viewEntity, createEntity, updateAnEntity, deleteAnEntity];
