import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** Returns a SoR's addresses for mails (`notify_emails`, by default its creator), and its identifier. */
export async function findMailFacts(
  db: Queryable,
  entityId: number,
  sorId: number,
): Promise<{ sorIdentifier: string; to: string[] }> {
  const rows = readRows<Row<'systems_of_records', 'identifier' | 'notifyEmails'> & { creator: string | null }>(
    await db.query(
      `SELECT s.identifier, s.notify_emails, u.email AS creator FROM systems_of_records s LEFT JOIN users u ON u.id = s.created_by
     WHERE s.entity_id = $1 AND s.id = $2`,
      [entityId, sorId],
    ),
  );
  const { identifier = '', notifyEmails: to = [], creator = null } = rows[0] ?? {};
  return { sorIdentifier: identifier, to: to.length > 0 || creator === null ? to : [creator] };
}
