/** Values that filters find of one person: attributes, numbers of events, segments. */
import { readRow } from '../core/camel-row.ts';
import { type Database, type Queryable, read } from '../core/database.ts';
import { isoUtc } from '../core/iso-time.ts';
import { detailsSql, parameters } from './funnel-stats.ts';
import { personOfDevice } from './people.ts';
import {
  DEVICE_COLUMNS,
  deviceJoin,
  type ResolvedBlock,
  type ResolvedFilter,
  segmentSettings,
  type SegmentQuery,
  TEXTS,
} from './segment-sql.ts';

/** A person's ids in the app: `devices` are theirs; events without a user count for them on `soleDevices`. */
type OwnIds = { user: string | null; devices: string[]; soleDevices: string[] };

const MAX_VALUES = 20;
const MAX_CHARS = 200;

/** Returns for each filter, in order, what the person has there as text; null: nothing, or not shown. */
export async function listFoundValues(
  db: Database,
  entityId: number,
  { appId, filters, now }: SegmentQuery,
  person: string,
  {
    isShown,
    timeoutMs,
    signal,
  }: { isShown: (on: ResolvedFilter['on']) => boolean; timeoutMs: number; signal: AbortSignal },
): Promise<(string | null)[]> {
  return read(
    db,
    async (tx) => {
      const own = await findOwnIds(tx, entityId, appId, person);
      const found: (string | null)[] = [];
      for (const filter of filters.blocks.flatMap(eachOf)) {
        found.push(isShown(filter.on) ? await findValue(tx, entityId, { appId, now, filter, own, person }) : null);
      }
      return found;
    },
    { settings: segmentSettings(timeoutMs), signal },
  );
}

function eachOf(element: ResolvedFilter | ResolvedBlock): ResolvedFilter[] {
  return 'on' in element ? [element] : element.filters.flatMap(eachOf);
}

/** Uses devices_by_user, device_users_by_user and the primary keys. */
async function findOwnIds(db: Queryable, entityId: number, appId: number, person: string): Promise<OwnIds> {
  const id = person.slice(1);
  if (person.startsWith('d')) return { user: null, devices: [id], soleDevices: [id] };
  const own = readRow<Omit<OwnIds, 'user'>>(
    await db.query(
      `WITH used AS MATERIALIZED (
         SELECT device_id FROM devices WHERE entity_id = $1 AND last_user_id = $3 AND app_id = $2
         UNION SELECT device_id FROM device_users WHERE entity_id = $1 AND user_id = $3 AND app_id = $2)
       SELECT ARRAY(SELECT d.device_id FROM devices d JOIN used USING (device_id)
           WHERE d.entity_id = $1 AND d.app_id = $2 AND ${personOfDevice('d')} = 'u' || $3::text) AS devices,
         ARRAY(SELECT u.device_id FROM device_users u JOIN used USING (device_id)
           WHERE u.entity_id = $1 AND u.app_id = $2 GROUP BY 1 HAVING count(*) = 1) AS sole_devices`,
      [entityId, appId, id],
    ),
  );
  return { user: id, ...own! };
}

type Asked = { appId: number; now: Date; filter: ResolvedFilter; own: OwnIds; person: string };

async function findValue(
  db: Queryable,
  entityId: number,
  { appId, now, filter, own, person }: Asked,
): Promise<string | null> {
  const { values, add } = parameters();
  const devices = () => `${add(own.devices)}::text[]`;
  let text: string;
  if (filter.on === 'attributes') {
    text = listed(
      `SELECT coalesce(${TEXTS}, array_to_string(v.set_elements, ', ')) AS value FROM attribute_values v
       WHERE v.entity_id = $1 AND v.sor_id = ${add(filter.sorId)}::integer AND v.attribute_id = ${add(filter.attributeId)}::integer
         AND v.removed_at IS NULL AND (v.customer_type = 0 AND v.customer_id = ${add(own.user)}::text
           OR v.customer_type = 1 AND v.customer_id = ANY (${devices()}))`,
    );
  } else if (filter.on === 'devices') {
    const app = `${add(appId)}::integer`;
    const column = DEVICE_COLUMNS[filter.field];
    text = listed(
      `SELECT ${filter.comparison.type === 'Datetime' ? isoUtc(column) : `(${column})::text`} AS value
       FROM devices d ${deviceJoin(filter.field, { app, now, add })}
       WHERE d.entity_id = $1 AND d.app_id = ${app} AND d.device_id = ANY (${devices()})`,
    );
  } else if (filter.on === 'events') {
    const kind = filter.logType === 0 ? '' : `AND e.log_type = ${add(filter.logType)}::smallint`;
    const detail = filter.details?.length ? `AND (${detailsSql(filter.details, add)})` : '';
    text = `SELECT count(*)::text AS found FROM events e
      WHERE e.entity_id = $1 AND e.app_id = ${add(filter.appId)}::integer AND e.happened_at >= ${add(filter.period.from)}::timestamptz
        AND e.happened_at < ${add(filter.period.until)}::timestamptz ${kind} AND e.name = ${add(filter.name)}::text ${detail}
        AND (e.user_id = ${add(own.user)}::text OR e.user_id IS NULL AND e.device_id = ANY (${add(own.soleDevices)}::text[]))`;
  } else if (filter.on === 'segments') {
    text = listed(
      `SELECT s.name AS value FROM segment_members m JOIN segments s ON s.entity_id = m.entity_id AND s.id = m.segment_id
       WHERE m.entity_id = $1 AND m.segment_id = ANY (${add(filter.ids)}::integer[]) AND m.person = ${add(person)}`,
    );
  } else return null;
  const { rows } = await db.query<{ found: string | null }>(text, [entityId, ...values]);
  return rows[0]!.found;
}

const listed = (query: string): string =>
  `SELECT string_agg(value, ', ') AS found FROM (
    SELECT DISTINCT left(value, ${MAX_CHARS}) AS value FROM (${query}) f WHERE value IS NOT NULL ORDER BY 1 LIMIT ${MAX_VALUES}) f`;
