/** Connections to outside systems, which syncs read from and write to (docs/connectors.md). */
import { z } from 'zod';
import { FIELD_TYPES } from '../../domain/syncs/sync-codes.ts';
import { identifier, jsonObject, name, stored, textArray, ofRevision } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** A connection without its secrets. */
export const Connection = z
  .object({
    identifier: z.string(),
    name: z.string(),
    connector: z.string(),
    settings: z.record(z.string(), z.unknown()).describe('A secret shows as { "set": true } or { "set": false }'),
    revision: z.int().describe('Increases with each change'),
    created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Connection' });
export type Connection = z.output<typeof Connection>;

const SHARED = { tag: 'Connections', right: 'sor_manage' } as const;
const PATH = '/api/connections';
const params = z.object({ connection_id: identifier });
const MAX_SETTINGS_BYTES = 256 * 1024;
const settings = jsonObject(stored(MAX_SETTINGS_BYTES, z.record(z.string(), z.unknown())));

export const listConnections = operation({
  id: 'listConnections',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List connections, without their secrets',
  query: z.object(pageQuery),
  result: pageOf(Connection),
});

export const viewConnection = operation({
  id: 'viewConnection',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:connection_id`,
  summary: 'View a connection, without its secrets',
  params,
  result: Connection,
});

export const createConnection = operation({
  id: 'createConnection',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a connection to an outside source or destination',
  description: 'Millrace does not test the connection. To test the settings, call POST /api/connections/check.',
  audits: 'create connection',
  body: z.object({
    name,
    connector: identifier,
    settings: settings.describe("Must match the connector's JSON schema in GET /api/connectors"),
  }),
  result: Connection,
});

export const updateConnection = operation({
  id: 'updateConnection',
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/:connection_id`,
  summary: 'Update a connection',
  description: 'settings replaces all earlier settings. A secret that you leave out stays as it is; null removes it.',
  audits: 'update connection',
  params,
  body: z.object({ name: name.optional(), settings: settings.optional(), revision: ofRevision }),
  result: Connection,
});

export const deleteConnection = operation({
  id: 'deleteConnection',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:connection_id`,
  summary: 'Delete a connection and its secrets',
  description: 'Millrace refuses to delete a connection that a sync uses.',
  audits: 'delete connection',
  params,
});

export const alertConnections = textArray(identifier, 5);

export const CONNECTION_SIDES = ['source', 'destination', 'alerts'] as const;
const as = z
  .enum(CONNECTION_SIDES)
  .optional()
  .describe('For a connector that can be several; by default the first of source, destination, alerts');

export const ConnectionCheck = z
  .object({
    ok: z.boolean(),
    status: z
      .string()
      .optional()
      .describe('Why the check failed: address_refused, source_refused, source_unavailable or transfer_broken'),
    message: z.string().optional(),
    retry_after: z.int().optional().describe('Seconds to wait before another try, if the outside system named a time'),
  })
  .meta({ id: 'ConnectionCheck' });
export type ConnectionCheck = z.output<typeof ConnectionCheck>;

export const SourceStream = z
  .object({
    name: z.string(),
    fields: z.array(
      z.object({
        name: z.string(),
        type: z.enum(FIELD_TYPES),
        nullable: z.boolean(),
        takes_values: z
          .enum(['never', 'as_key'])
          .optional()
          .describe(
            'If a field of a destination takes no values, such as a generated column; as_key: it takes them as part of the key alone',
          ),
      }),
    ),
    key: z
      .array(z.string())
      .describe('Fields that together identify a record; empty if the source does not report them'),
    keys: z
      .array(z.array(z.string()))
      .optional()
      .describe('Keys by which a destination finds records, each of one or more fields; without it, by any'),
    incremental: z
      .union([z.literal('own'), z.object({ fields: z.array(z.string()) })])
      .describe('Cursor fields for incremental syncs; own: the source keeps its own state; no fields: full syncs only'),
  })
  .meta({ id: 'SourceStream' });
export type SourceStream = z.output<typeof SourceStream>;

export const checkConnectionSettings = operation({
  id: 'checkConnectionSettings',
  ...SHARED,
  method: 'POST',
  path: '/api/connections/check',
  summary: 'Test connection settings without storing them',
  audits: 'check connection',
  body: z.object({ connector: identifier, settings, as }),
  result: ConnectionCheck,
});

export const checkConnection = operation({
  id: 'checkConnection',
  ...SHARED,
  method: 'POST',
  path: '/api/connections/:connection_id/check',
  summary: 'Test a connection',
  audits: 'check connection',
  params,
  body: z.object({ as }),
  result: ConnectionCheck,
});

export const listStreams = operation({
  id: 'listStreams',
  ...SHARED,
  method: 'GET',
  path: '/api/connections/:connection_id/streams',
  summary: 'List the streams and fields of a connection',
  audits: 'discover connection',
  params,
  query: z.object({ as }),
  result: z.object({
    streams: z.array(SourceStream).nullable().describe('Null for a destination that accepts any stream'),
  }),
});
