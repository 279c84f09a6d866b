/** Devices of segments' members, and segments of devices. */

import type { SegmentMember } from '../../domain/analytics/usage-lists.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { personOfDevice } from './people.ts';

/** `hasMembers`: the members of its current filters or list are found. */
export type SegmentRef = Row<'segments', 'id' | 'identifier' | 'name' | 'appId'> & {
  appIdentifier: string;
  hasMembers: boolean;
};

/** Finds segments by identifier; unknown ones are left out. */
export async function listSegmentRefs(
  db: Queryable,
  entityId: number,
  identifiers: readonly string[],
): Promise<SegmentRef[]> {
  return readRows<SegmentRef>(
    await db.query(
      `SELECT s.id, s.identifier, s.name, s.app_id, a.identifier AS app_identifier, s.snapshot_at IS NOT NULL AS has_members
     FROM segments s JOIN apps a ON a.entity_id = s.entity_id AND a.id = s.app_id
     WHERE s.entity_id = $1 AND s.identifier = ANY ($2)`,
      [entityId, identifiers],
    ),
  );
}

/** Uses the primary key of segment_members. */
export const isMember = (person: string, segments: string): string => `EXISTS (
  SELECT FROM segment_members m WHERE m.entity_id = $1 AND m.segment_id = ANY (${segments}) AND m.person = ${person})`;

/**
 * Returns SQL for a segment's devices in an app, with their `person`: of each member in order of the primary key, by
 * devices_by_user, device_users_by_user and the device's own id. They may be another's by now. OFFSET 0 keeps the
 * planner from beginning with the devices.
 */
export const devicesOfSegment = (app: string, segment: string): string => `(
  SELECT d.*, m.person FROM segment_members m
  CROSS JOIN LATERAL (
    SELECT device_id FROM devices WHERE entity_id = m.entity_id AND last_user_id = substr(m.person, 2)
    UNION SELECT device_id FROM device_users WHERE entity_id = m.entity_id AND user_id = substr(m.person, 2)
    UNION SELECT substr(m.person, 2) OFFSET 0) candidate
  CROSS JOIN LATERAL (
    SELECT * FROM devices WHERE entity_id = m.entity_id AND app_id = ${app} AND device_id = candidate.device_id OFFSET 0) d
  WHERE m.entity_id = $1 AND m.segment_id = ${segment} AND m.person = ${personOfDevice('d')})`;

/** Maximum number of people that are looked up by id; for more, each row of an app is looked up among the members. */
const FEW = 20_000;

export type FewMembers = { users: string[]; devices: string[] };

/** Finds the members of segments if they are few, with all their devices in these apps; null: they are many. */
export async function findFewMembers(
  db: Queryable,
  entityId: number,
  segments: readonly number[],
  appIds: readonly number[],
): Promise<FewMembers | null> {
  const { rows } = await db.query<Row<'segment_members', 'person'>>(
    `SELECT person FROM segment_members WHERE entity_id = $1 AND segment_id = ANY ($2::integer[]) LIMIT ${FEW + 1}`,
    [entityId, segments],
  );
  if (rows.length > FEW) return null;
  const ofKind = (kind: string) =>
    rows.filter(({ person }) => person.startsWith(kind)).map(({ person }) => person.slice(1));
  const users = ofKind('u');
  const { rows: used } = await db.query<{ id: string }>(
    `SELECT device_id AS id FROM devices WHERE entity_id = $1 AND last_user_id = ANY ($2) AND app_id = ANY ($3::integer[])
     UNION SELECT device_id FROM device_users WHERE entity_id = $1 AND user_id = ANY ($2) AND app_id = ANY ($3::integer[])`,
    [entityId, users, appIds],
  );
  return { users, devices: [...new Set([...used.map(({ id }) => id), ...ofKind('d')])] };
}

const MEMBER_COLUMNS: Record<SegmentMember, string> = {
  segment_id: 's.identifier',
  name: 's.name',
  description: 's.description',
};

/** Returns SQL for a device's segments, without hidden ones, as of their snapshots. Uses segment_members_by_person. */
export function segmentsOfDevice(
  members: readonly SegmentMember[] = ['segment_id'],
  hidden?: readonly number[],
): string {
  const shown = members.map((member) => `'${member}', ${MEMBER_COLUMNS[member]}`).join(', ');
  return aggregated(`coalesce(json_agg(json_build_object(${shown}) ORDER BY s.id), '[]')`, hidden);
}

export const segmentIdsOfDevice = (hidden?: readonly number[]): string =>
  aggregated(`string_agg(s.identifier, ';' ORDER BY s.id)`, hidden);

function aggregated(aggregate: string, hidden: readonly number[] = []): string {
  return `(SELECT ${aggregate} FROM segment_members m JOIN segments s ON s.entity_id = m.entity_id AND s.id = m.segment_id
    WHERE m.entity_id = r.entity_id AND m.person = ${personOfDevice('r')} AND s.app_id = r.app_id AND s.snapshot_at IS NOT NULL
      AND s.id <> ALL ('{${hidden.map(Number).join()}}'::integer[]))`;
}
