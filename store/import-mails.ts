import type { Queryable } from './database.ts';

/** Who is told of imports into a SoR, deleted or not: its `notify_emails`, by default its creator. And its name. */
export async function findMailFacts(
  db: Queryable, entityId: number, sorId: number,
): Promise<{ sorName: string; to: string[] }> {
  const { rows } = await db.query<{ name: string; notify_emails: string[]; creator: string | null }>(
    `SELECT s.name, s.notify_emails, u.email AS creator FROM systems_of_records s LEFT JOIN users u ON u.id = s.created_by
     WHERE s.entity_id = $1 AND s.id = $2`, [entityId, sorId]);
  const { name = '', notify_emails: to = [], creator = null } = rows[0] ?? {};
  return { sorName: name, to: to.length > 0 || creator === null ? to : [creator] };
}
