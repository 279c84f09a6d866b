/** The entities (clients) of a server, for superadmins: create, change, delete. */
import { z } from 'zod';
import { MAX_CONTROL_GROUP_PERCENT } from '../../domain/campaigns/control-group.ts';
import { isTimeZone } from '../../domain/time/time-zone.ts';
import { bodyFlag, bodyInteger, identifier, name, secretsQuery, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** An entity as in the login response (reference: Authentication). */
export const Entity = z
  .object({
    id: z.int(),
    name: z.string(),
    description: z.string(),
    identifier: z.string(),
    active: z.boolean(),
    qa_api_key: z.string(),
    prod_api_key: z.string(),
    data_retention_in_months: z.int(),
  })
  .meta({ id: 'Entity' });
export type Entity = z.output<typeof Entity>;

const SHARED = { tag: 'Entities', role: 'superadmin' } as const;
const PATH = '/api/entities';
const ONE = `${PATH}/:entity_id`;
export const WholeEntity = Entity.extend({ default_tz: z.string(), control_group_percent: z.int() }).meta({
  id: 'WholeEntity',
});
export type WholeEntity = z.output<typeof WholeEntity>;

/** An entity as it is viewed: its keys only if they are asked for. */
export const ViewedEntity = WholeEntity.partial({ qa_api_key: true, prod_api_key: true }).meta({ id: 'ViewedEntity' });
export type ViewedEntity = z.output<typeof ViewedEntity>;

const params = z.object({ entity_id: identifier.describe('identifier or id of the entity') });
const secrets = secretsQuery('qa_api_key and prod_api_key');

const optional = {
  description: text({ max: 1_000 }).optional(),
  default_tz: text()
    .refine(isTimeZone, 'must be a zone of the IANA database, such as Europe/Paris')
    .optional()
    .describe('By default Europe/Paris'),
  data_retention_in_months: bodyInteger({ min: 1, max: 120 }).optional().describe('By default 25'),
  control_group_percent: bodyInteger({ min: 0, max: MAX_CONTROL_GROUP_PERCENT })
    .optional()
    .describe('Share of its people who get no campaign but transactional ones; by default 0'),
};

export const listEntities = operation({
  id: 'listEntities',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List all entities',
  audits: 'read entity',
  query: z.object({ ...pageQuery, ...secrets }),
  result: pageOf(ViewedEntity),
});

export const viewEntity = operation({
  id: 'viewEntity',
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View an entity',
  audits: 'read entity',
  params,
  query: z.object(secrets),
  result: ViewedEntity,
});

export const createEntity = operation({
  id: 'createEntity',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create an entity',
  description: 'Millrace also creates its global System of Records. You become an admin of it with every right.',
  audits: 'create entity',
  body: z.object({ name, ...optional }),
  result: WholeEntity,
});

export const updateEntity = operation({
  id: 'updateEntity',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change an entity',
  description: 'While an entity is not active, the server refuses all its tokens and keys.',
  audits: 'update entity',
  params,
  body: z.object({ name: name.optional(), ...optional, active: bodyFlag.optional() }),
  result: WholeEntity,
});

export const deleteEntity = operation({
  id: 'deleteEntity',
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Delete an empty entity',
  description:
    'Also deletes its apps with what was set up beside them, results of messages, memberships, and users who belong to no other ' +
    'entity. The server refuses if it holds other data, and names it.',
  audits: 'delete entity',
  params,
});
