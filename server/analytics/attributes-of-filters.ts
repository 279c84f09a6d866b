/** Attributes in filters: names them for the audit log, and hides what they would tell a caller without the right. */

import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { refuse } from '../../domain/core/refusal.ts';
import {
  listAttributesOfUsers,
  listNamedAttributes,
  listSensitiveSegments,
} from '../../store/analytics/named-attributes.ts';
import { deletePeopleOfSegments } from '../../store/analytics/segment-changes.ts';
import { findNamedAttributes } from '../../store/attributes/profile-texts.ts';
import type { Queryable, Tx } from '../../store/core/database.ts';
import type { Caller } from '../http/caller.ts';

const MAX_WRITTEN = 100;

/**
 * Returns the attributes, not values, of filters and of the profile values that texts name, for the audit log. Refuses
 * sensitive ones without the right to values.
 */
export async function attributesOfFilters(
  db: Queryable,
  caller: Caller,
  filters: SegmentFilters | null,
  profileNames: readonly string[] = [],
): Promise<{ attributes?: string }> {
  const named = [
    ...(filters ? await listNamedAttributes(db, caller.entityId, [filters]) : []),
    ...(profileNames.length > 0 ? await findNamedAttributes(db, caller.entityId, profileNames) : []),
  ];
  const sensitive = caller.rights.has('sor_manage') ? undefined : named.find(({ isSensitive }) => isSensitive);
  if (sensitive)
    refuse(403, 'forbidden', `This needs the right sor_manage: the attribute ${sensitive.key} is sensitive`);
  if (named.length === 0) return {};
  const each = [...new Set(named.map(({ sor, key }) => `${sor} ${key}`))];
  const written = each.slice(0, MAX_WRITTEN).join(', ');
  return { attributes: each.length > MAX_WRITTEN ? `${written} and ${each.length - MAX_WRITTEN} more` : written };
}

/** Lists segments whose people and counts would reveal values that the caller may not read. */
export async function listHiddenSegments(db: Queryable, { entityId, rights }: Caller): Promise<number[]> {
  return rights.has('sor_manage') ? [] : listSensitiveSegments(db, entityId);
}

/** Refuses a segment whose people would reveal values that the caller may not read. */
export async function refuseHidden(db: Queryable, caller: Caller, segmentId: number): Promise<void> {
  if ((await listHiddenSegments(db, caller)).includes(segmentId))
    refuse(403, 'forbidden', 'This needs the right sor_manage: the segment compares with a sensitive attribute');
}

/**
 * Changes filters or attributes, and deletes the people and the history of segments that were sensitive before and are
 * not any more: they tell of the earlier filters.
 */
export async function keepHidden<T>(tx: Tx, entityId: number, change: () => Promise<T>): Promise<T> {
  const before = await listSensitiveSegments(tx, entityId);
  const changed = await change();
  if (before.length === 0) return changed;
  const after = new Set(await listSensitiveSegments(tx, entityId));
  await deletePeopleOfSegments(
    tx,
    entityId,
    before.filter((id) => !after.has(id)),
  );
  return changed;
}

/** Refuses to change people of a segment in sensitive comparisons without the right: its counts would reveal values. */
export async function refuseSensitiveUsers(db: Queryable, caller: Caller, segmentId: number): Promise<void> {
  if (caller.rights.has('sor_manage')) return;
  const sensitive = (await listAttributesOfUsers(db, caller.entityId, segmentId)).find(
    ({ isSensitive }) => isSensitive,
  );
  if (sensitive) {
    refuse(
      403,
      'forbidden',
      `This needs the right sor_manage: a segment or campaign that names this one compares with the sensitive attribute ${sensitive.key}`,
    );
  }
}
