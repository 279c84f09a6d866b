/** The routes that check a connection and list its streams. */
import * as api from '../../api/syncs/connections.ts';
import { connectorOf } from '../../connectors/catalog.ts';
import type { AnyConnector, ConnectorContext, Stream } from '../../connectors/core/contract.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { openSecretSettings, type SplitSettings } from '../../store/syncs/connections.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { knownConnection } from './connection-record.ts';
import { connectorNamed, parseSettings, readSettings } from './connection-settings.ts';
import type { CallOutcome, ConnectorCall } from './connector-calls.ts';

type Side = (typeof api.CONNECTION_SIDES)[number];

type Asked = { connector: AnyConnector; split: SplitSettings; side: Side };

const checkSettings = route(api.checkConnectionSettings, async ({ body, ...who }, deps) => {
  const connector = connectorNamed(body.connector);
  const side = sideOf(connector, body.as);
  return check({ connector, side, split: readSettings(connector, body.settings) }, null, who, deps);
});

const checkConnection = route(api.checkConnection, async ({ params: { connection_id }, body, ...who }, deps) => {
  return check(await findAsked(connection_id, body.as, who.caller, deps), connection_id, who, deps);
});

const listStreams = route(api.listStreams, async ({ params: { connection_id }, query, log, ...who }, deps) => {
  const asked = await findAsked(connection_id, query.as, who.caller, deps);
  const { entityId } = who.caller;
  const { connector, side } = asked;
  if (side === 'alerts') return refuse(400, 'bad_request', noStreams(connector));
  const outcome = await call(
    asked,
    { entityId, withinMs: deps.limits.discoverMs, log },
    deps,
    (settings, context) =>
      // Each side has its own type of answer.
      connector[side]!.discover(settings, context) as Promise<Stream[] | null>,
  );
  const details = outcome.ok
    ? { ...detailsOf(asked, outcome), streams: outcome.value?.length ?? null }
    : detailsOf(asked, outcome);
  await write(deps.db, (tx) =>
    audit(tx, who, { action: 'discover', subjectKind: 'connection', subject: connection_id, details }),
  );
  if (!outcome.ok) throw outcome.refusal;
  return { streams: outcome.value };
});

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller; keepReply: KeepReply };

async function check(asked: Asked, subject: string | null, { log, keepReply, ...who }: Who, deps: RouteDependencies) {
  const { entityId } = who.caller;
  const outcome = await call(asked, { entityId, withinMs: deps.limits.checkMs, log }, deps, (settings, context) =>
    asked.connector[asked.side]!.check(settings, context),
  );
  return write(deps.db, async (tx) => {
    await audit(tx, who, { action: 'check', subjectKind: 'connection', subject, details: detailsOf(asked, outcome) });
    return keepReply(tx, showOutcome(outcome));
  });
}

function call<T>(
  { connector, split }: Asked,
  options: Omit<ConnectorCall, 'secretSettings'>,
  { connectorCalls }: RouteDependencies,
  work: (settings: unknown, context: ConnectorContext) => Promise<T>,
): Promise<CallOutcome<T>> {
  const settings = parseSettings(connector, split);
  return connectorCalls.run({ ...options, secretSettings: split.secretSettings }, (context) => work(settings, context));
}

async function findAsked(
  connectionId: string,
  wanted: Side | undefined,
  { entityId }: Caller,
  { db, secrets }: RouteDependencies,
): Promise<Asked> {
  const connection = await knownConnection(db, entityId, connectionId);
  const connector = connectorOf(connection);
  const split = { settings: connection.settings, secretSettings: openSecretSettings(secrets, entityId, connection) };
  return { connector, split, side: sideOf(connector, wanted) };
}

function sideOf(connector: AnyConnector, wanted: Side | undefined): Side {
  const [first, ...others] = api.CONNECTION_SIDES.filter((side) => connector[side] !== undefined);
  if (wanted === undefined || wanted === first || others.includes(wanted)) return wanted ?? first!;
  return refuseField('as', `must be ${first}: ${connector.name} is no ${wanted}`);
}

function noStreams({ name, source, destination }: AnyConnector): string {
  if (source ?? destination) return 'Alerts have no streams: leave out as';
  return `The connection is of ${name}, which only takes alerts: it has no streams`;
}

/** Returns details for the audit log; a refusal shows its status alone, since messages name hosts. */
function detailsOf({ connector, side }: Asked, outcome: CallOutcome<unknown>) {
  return {
    connector: connector.name,
    as: side,
    ok: outcome.ok,
    ...(outcome.ok ? {} : { status: outcome.refusal.status }),
  };
}

function showOutcome(outcome: CallOutcome<unknown>): api.ConnectionCheck {
  if (outcome.ok) return { ok: true };
  const {
    status,
    message,
    extra: { retry_after: seconds },
  } = outcome.refusal;
  return {
    ok: false,
    status: String(status),
    message,
    ...(typeof seconds === 'number' ? { retry_after: seconds } : {}),
  };
}

export const connectionCheckRoutes: Route[] = [checkSettings, checkConnection, listStreams];
