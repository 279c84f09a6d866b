import { z } from 'zod';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { isTimeZone } from '../../domain/core/time-zone.ts';
import { deleteEntity, listHoldings } from '../../store/accounts/empty-entity.ts';
import {
  countEntities, type Entity, findEntity, insertEntity, listEntities, lockEntity, updateEntity,
} from '../../store/accounts/entities.ts';
import { insertMembership } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { listExporters, raiseExporterRevisions } from '../../store/exports/data-exporters.ts';
import { followExporterSoon } from '../exports/exporter-flows.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, bodyInteger, identifier, name, text } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { EntityRecord, showEntity } from './entity-record.ts';

/** All entities of the service: for superadmins, who see all of them. */
const SHARED = { tag: 'Entities', role: 'superadmin' } as const;
const PATH = '/api/entities';
const ONE = `${PATH}/:entity_id`;
const NOT_FOUND = 'Entity not found';

const WholeEntity = EntityRecord.extend({ default_tz: z.string() });

const params = z.object({ entity_id: identifier.describe('identifier or id') });
const optional = {
  description: text({ max: 1_000 }).optional(),
  default_tz: text().refine(isTimeZone, 'must be a zone of the IANA database, such as Europe/Paris').optional(),
  data_retention_in_months: bodyInteger({ min: 1, max: 120 }).optional(),
};

const listTheEntities = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List all entities',
  query: z.object(pageQuery),
  result: pageOf(WholeEntity),
  async handle({ query }, { db, secrets, settings }) {
    const entities = await listEntities(db, secrets, rowsOf(query));
    return showPage(settings, PATH, query, await countEntities(db), entities.map(showWhole));
  },
});

const viewEntity = route({
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View an entity',
  params,
  result: WholeEntity,
  async handle({ params: { entity_id } }, { db, secrets }) {
    return showWhole(await findEntity(db, secrets, entity_id) ?? refuse(404, 'not_found', NOT_FOUND));
  },
});

const createEntity = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create an entity',
  description: 'It comes with its global System of Records, and its creator as an admin with every right.',
  body: z.object({ name, ...optional }),
  result: WholeEntity,
  async handle({ body, keepReply, ...who }, { db, secrets }) {
    return write(db, async (tx) => {
      const entity = await insertEntity(tx, secrets, body.name, changesOf(body));
      await insertMembership(tx, { userId: who.caller.userId, entityId: entity.id, rights: [...RIGHTS], admin: true });
      for (const entityId of [who.caller.entityId, entity.id]) {
        await audit(tx, who, { action: 'create', subjectKind: 'entity', subject: entity.identifier }, entityId);
      }
      return keepReply(tx, showWhole(entity), { secretOf: entity.identifier });        // it shows the entity's keys
    });
  },
});

const updateAnEntity = route({
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change an entity',
  description: 'Of one that is not active all tokens and keys are refused.',
  params,
  body: z.object({ name: name.optional(), ...optional, active: bodyFlag.optional() }),
  result: WholeEntity,
  async handle({ params: { entity_id }, body, log, ...who }, deps) {
    const { db, secrets } = deps;
    let zoned: number | null = null;
    const answer = await write(db, async (tx) => {
      const entity = await lockEntity(tx, secrets, entity_id) ?? refuse(404, 'not_found', NOT_FOUND);
      if (body.active === false && entity.id === who.caller.entityId) {
        refuse(400, 'bad_request', 'This token acts in the entity: deactivate it from another one');
      }
      const changed = await updateEntity(tx, secrets, entity.id, { ...changesOf(body), name: body.name, active: body.active });
      zoned = changed.defaultTz === entity.defaultTz ? null : entity.id;
      if (zoned !== null) await raiseExporterRevisions(tx, zoned);
      const details = { changed: Object.keys(body).join(' '), active: changed.active };
      for (const entityId of new Set([who.caller.entityId, entity.id])) {
        await audit(tx, who, { action: 'update', subjectKind: 'entity', subject: entity.identifier, details }, entityId);
      }
      return showWhole(changed);
    });
    const exporters = zoned === null ? [] : await listExporters(db, zoned);
    await Promise.all(exporters.filter(({ active }) => active).map((exporter) => followExporterSoon(deps, log, exporter)));
    return answer;
  },
});

const deleteAnEntity = route({
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Delete an empty entity',
  description: 'With its apps and memberships; users who belong to no other entity are deleted. One that holds anything else is refused.',
  params,
  async handle({ params: { entity_id }, ...who }, { db, secrets }) {
    await write(db, async (tx) => {
      const entity = await lockEntity(tx, secrets, entity_id) ?? refuse(404, 'not_found', NOT_FOUND);
      if (entity.id === who.caller.entityId) refuse(400, 'bad_request', 'This token acts in the entity: delete it from another one');
      const held = await listHoldings(tx, entity.id);
      if (held.length > 0) {
        const names = held.map((table) => table.replaceAll('_', ' ')).join(', ');
        const message = `Only an empty entity can be deleted, and this one holds ${names}: set active to false instead, `
          + 'or try again where they are being deleted';
        refuse(400, 'bad_request', message);
      }
      await deleteEntity(tx, entity.id);
      await audit(tx, who, { action: 'delete', subjectKind: 'entity', subject: entity.identifier });
    });
    return noResult();
  },
});

type Asked = {
  description?: string | undefined; default_tz?: string | undefined; data_retention_in_months?: number | undefined;
};

function changesOf({ description, default_tz: defaultTz, data_retention_in_months: dataRetentionInMonths }: Asked) {
  return { description, defaultTz, dataRetentionInMonths };
}

function showWhole(entity: Entity): z.input<typeof WholeEntity> {
  return { ...showEntity(entity), default_tz: entity.defaultTz };
}

export const entityRoutes: Route[] = [listTheEntities, viewEntity, createEntity, updateAnEntity, deleteAnEntity];
