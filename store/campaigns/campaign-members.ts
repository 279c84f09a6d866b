/** The people in the audience of a dynamic campaign, and what they got of it. */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** A person who is or was in a dynamic campaign's audience. `lastWindow`: start of the last window that notified. */
export type CampaignMember = Row<
  'campaign_members',
  'person' | 'isMember' | 'notified' | 'lastNotifiedAt' | 'lastWindow'
>;

/** Finds members by person. Uses the primary key. */
export async function listMembers(
  tx: Queryable,
  entityId: number,
  sendId: number,
  people: readonly string[],
): Promise<Map<string, CampaignMember>> {
  const members = readRows<CampaignMember>(
    await tx.query(
      `SELECT person, is_member, notified, last_notified_at, last_window FROM campaign_members
     WHERE entity_id = $1 AND send_id = $2 AND person = ANY ($3::text[])`,
      [entityId, sendId, people],
    ),
  );
  return new Map(members.map((member) => [member.person, member]));
}

/** Finds a person among those of a campaign's run. Uses sends_by_campaign and the primary key. */
export async function findMemberOf(
  db: Queryable,
  entityId: number,
  campaignId: number,
  person: string,
): Promise<CampaignMember | null> {
  const { rows } = await db.query<Row<'sends', 'id'>>(
    'SELECT id FROM sends WHERE entity_id = $1 AND campaign_id = $2',
    [entityId, campaignId],
  );
  return rows[0] ? ((await listMembers(db, entityId, rows[0].id, [person])).get(person) ?? null) : null;
}

/** Marks members between two persons (null: no bound) who are not in the list as left, and returns how many. */
export async function updateLeft(
  tx: Queryable,
  entityId: number,
  sendId: number,
  people: readonly string[],
  { after, upTo, limit }: { after: string | null; upTo: string | null; limit: number },
): Promise<number> {
  const { rowCount } = await tx.query(
    `UPDATE campaign_members SET is_member = false WHERE entity_id = $1 AND send_id = $2 AND person = ANY (ARRAY(
       SELECT person FROM campaign_members
       WHERE entity_id = $1 AND send_id = $2 AND is_member AND ($4::text IS NULL OR person > $4 COLLATE "C")
         AND ($5::text IS NULL OR person <= $5 COLLATE "C") AND person <> ALL ($3::text[]) LIMIT $6))`,
    [entityId, sendId, people, after, upTo, limit],
  );
  return rowCount!;
}

export async function upsertMembers(
  tx: Queryable,
  entityId: number,
  sendId: number,
  members: readonly CampaignMember[],
): Promise<void> {
  if (members.length === 0) return;
  await tx.query(
    `INSERT INTO campaign_members (entity_id, send_id, person, is_member, notified, last_notified_at, last_window)
     SELECT $1, $2, m.* FROM unnest($3::text[], $4::boolean[], $5::integer[], $6::timestamptz[], $7::timestamptz[]) AS m
     ON CONFLICT (entity_id, send_id, person) DO UPDATE SET is_member = excluded.is_member, notified = excluded.notified,
       last_notified_at = excluded.last_notified_at, last_window = excluded.last_window`,
    [
      entityId,
      sendId,
      members.map(({ person }) => person),
      members.map(({ isMember }) => isMember),
      members.map(({ notified }) => notified),
      members.map(({ lastNotifiedAt }) => lastNotifiedAt),
      members.map(({ lastWindow }) => lastWindow),
    ],
  );
}

export async function deleteCampaignMembers(
  tx: Queryable,
  entityId: number,
  sendId: number,
  limit: number,
): Promise<number> {
  const { rowCount } = await tx.query(
    `DELETE FROM campaign_members WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM campaign_members WHERE entity_id = $1 AND send_id = $2 LIMIT $3))`,
    [entityId, sendId, limit],
  );
  return rowCount!;
}

export async function updateLookedAt(
  tx: Queryable,
  entityId: number,
  sendId: number,
  { at, next }: { at: Date; next: Date },
): Promise<void> {
  await tx.query(
    'UPDATE sends SET looked_at = $3, looks = looks + 1, next_look_at = $4 WHERE entity_id = $1 AND id = $2',
    [entityId, sendId, at, next],
  );
}

export async function updateNextLookAt(tx: Queryable, entityId: number, sendId: number, next: Date): Promise<void> {
  await tx.query('UPDATE sends SET next_look_at = $3 WHERE entity_id = $1 AND id = $2', [entityId, sendId, next]);
}
