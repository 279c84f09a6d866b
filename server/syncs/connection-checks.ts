import { z } from 'zod';
import { connectorOf } from '../../connectors/catalog.ts';
import type { AnyConnector, ConnectorContext, Stream } from '../../connectors/core/contract.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { FIELD_TYPES } from '../../domain/syncs/sync-codes.ts';
import { write } from '../../store/core/database.ts';
import { openSecretSettings, type SplitSettings } from '../../store/syncs/connections.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { identifier, jsonObject } from '../http/input.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { knownConnection } from './connection-record.ts';
import { connectorNamed, parseSettings, readSettings } from './connection-settings.ts';
import type { CallOutcome, ConnectorCall } from './connector-calls.ts';

/** What asks the outside system itself. */
const SHARED = { tag: 'Connections', right: 'sor_manage' } as const;
const params = z.object({ connection_id: identifier });

const SIDES = ['source', 'destination'] as const;
type Side = (typeof SIDES)[number];
const as = z.enum(SIDES).optional().describe('Of a connector that is both; by default source');

const CheckRecord = z.object({
  ok: z.boolean(),
  status: z.string().optional().describe('address_refused, source_refused, source_unavailable or transfer_broken'),
  message: z.string().optional(),
  retry_after: z.int().optional().describe('Seconds, where it named a time'),
});

const StreamRecord = z.object({
  name: z.string(),
  fields: z.array(z.object({
    name: z.string(),
    type: z.enum(FIELD_TYPES),
    nullable: z.boolean(),
  })),
  key: z.array(z.string()).describe('The fields that together name a record; empty where the source does not tell'),
  incremental: z.union([z.literal('own'), z.object({ fields: z.array(z.string()) })])
    .describe('By which fields what is new or changed can be read alone; own: by a state that the source keeps; none: not at all'),
});

type Asked = { connector: AnyConnector; split: SplitSettings; side: Side };

const checkSettings = route({
  ...SHARED,
  method: 'POST',
  path: '/api/connections/check',
  summary: 'Check connection settings without storing them',
  body: z.object({ connector: identifier, settings: jsonObject(z.record(z.string(), z.unknown())), as }),
  result: CheckRecord,
  async handle({ body, ...who }, deps) {
    const connector = connectorNamed(body.connector);
    const side = sideOf(connector, body.as);
    return check({ connector, side, split: readSettings(connector, body.settings) }, null, who, deps);
  },
});

const checkConnection = route({
  ...SHARED,
  method: 'POST',
  path: '/api/connections/:connection_id/check',
  summary: 'Check a connection',
  params,
  body: z.object({ as }),
  result: CheckRecord,
  async handle({ params: { connection_id }, body, ...who }, deps) {
    return check(await findAsked(connection_id, body.as, who.caller, deps), connection_id, who, deps);
  },
});

const listStreams = route({
  ...SHARED,
  method: 'GET',
  path: '/api/connections/:connection_id/streams',
  summary: 'Discover the streams and fields of a connection',
  params,
  query: z.object({ as }),
  result: z.object({ streams: z.array(StreamRecord).nullable().describe('Null: a destination that takes anything') }),
  async handle({ params: { connection_id }, query, log, ...who }, deps) {
    const asked = await findAsked(connection_id, query.as, who.caller, deps);
    const { entityId } = who.caller;
    const outcome = await call(asked, { entityId, withinMs: deps.limits.discoverMs, log }, deps, (settings, context) =>
      // Each side has its own type of answer.
      asked.connector[asked.side]!.discover(settings, context) as Promise<Stream[] | null>);
    const details = outcome.ok ? { ...detailsOf(asked, outcome), streams: outcome.value?.length ?? null } : detailsOf(asked, outcome);
    await write(deps.db, (tx) => audit(tx, who, { action: 'discover', subjectKind: 'connection', subject: connection_id, details }));
    if (!outcome.ok) throw outcome.refusal;
    return { streams: outcome.value };
  },
});

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller; keepReply: KeepReply };

async function check(asked: Asked, subject: string | null, { log, keepReply, ...who }: Who, deps: RouteDependencies) {
  const { entityId } = who.caller;
  const outcome = await call(asked, { entityId, withinMs: deps.limits.checkMs, log }, deps, (settings, context) =>
    asked.connector[asked.side]!.check(settings, context));
  return write(deps.db, async (tx) => {
    await audit(tx, who, { action: 'check', subjectKind: 'connection', subject, details: detailsOf(asked, outcome) });
    return keepReply(tx, showOutcome(outcome));
  });
}

function call<T>(
  { connector, split }: Asked, options: Omit<ConnectorCall, 'secretSettings'>, { connectorCalls }: RouteDependencies,
  work: (settings: unknown, context: ConnectorContext) => Promise<T>,
): Promise<CallOutcome<T>> {
  const settings = parseSettings(connector, split);
  return connectorCalls.run({ ...options, secretSettings: split.secretSettings }, (context) => work(settings, context));
}

async function findAsked(
  connectionId: string, wanted: Side | undefined, { entityId }: Caller, { db, secrets }: RouteDependencies,
): Promise<Asked> {
  const connection = await knownConnection(db, entityId, connectionId);
  const connector = connectorOf(connection);
  const split = { settings: connection.settings, secretSettings: openSecretSettings(secrets, entityId, connection) };
  return { connector, split, side: sideOf(connector, wanted) };
}

function sideOf(connector: AnyConnector, wanted: Side | undefined): Side {
  const [first, ...others] = SIDES.filter((side) => connector[side] !== undefined);
  if (wanted === undefined || wanted === first || others.includes(wanted)) return wanted ?? first!;
  return refuseField('as', `must be ${first}: ${connector.name} is no ${wanted}`);
}

/** Of a refusal its status alone: messages name hosts. */
function detailsOf({ connector, side }: Asked, outcome: CallOutcome<unknown>) {
  return { connector: connector.name, as: side, ok: outcome.ok, ...(outcome.ok ? {} : { status: outcome.refusal.status }) };
}

function showOutcome(outcome: CallOutcome<unknown>): z.input<typeof CheckRecord> {
  if (outcome.ok) return { ok: true };
  const { status, message, extra: { retry_after: seconds } } = outcome.refusal;
  return { ok: false, status: String(status), message, ...(typeof seconds === 'number' ? { retry_after: seconds } : {}) };
}

export const connectionCheckRoutes: Route[] = [checkSettings, checkConnection, listStreams];
