/** The routes of the audit log. Reading it is audited, too. */
import type { z } from 'zod';
import * as api from '../../api/accounts/audit-log.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { cursorPage } from '../http/page.ts';
import { streamedCsvFile } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import {
  type AuditFilter,
  listAuditEntries,
  type StoredAuditEntry,
  streamAuditEntries,
} from '../../store/accounts/audit-log.ts';

type Filters = z.output<z.ZodObject<typeof api.auditFilters>>;

const readAuditLog = route(api.listAuditEntries, async ({ query, ...who }, { db, secrets, settings }) => {
  const { entityId } = who.caller;
  const filter = filterOf(secrets, entityId, query);
  const found = await write(db, async (tx) => {
    const entries = await listAuditEntries(tx, entityId, filter, query.cursor ?? null, query.per_page + 1);
    await auditReading(tx, who, query, filter, 'read');
    return entries;
  });
  const { rows, next } = cursorPage(settings, api.listAuditEntries.path, query, found);
  return { entries: rows.map(showEntry), next };
});

const COLUMNS = [
  'id',
  'date',
  'actor_kind',
  'actor_id',
  'actor',
  'actor_name',
  'address',
  'action',
  'subject_kind',
  'subject',
  'customer_hash',
  'details',
] as const;

const exportAuditLog = route(api.exportAuditLog, async ({ query, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  const filter = filterOf(secrets, entityId, query);
  await write(db, (tx) => auditReading(tx, who, query, filter, 'export'));
  return streamedCsvFile('audit_log', [...COLUMNS], lines(streamAuditEntries(db, entityId, filter)));
});

function filterOf(secrets: Secrets, entityId: number, query: Filters): AuditFilter {
  const { customer_id: id, customer_id_type: type } = query;
  return {
    from: query.from,
    till: query.till,
    action: query.action,
    subjectKind: query.subject_kind,
    subject: query.subject,
    actorKind: query.actor_kind,
    actor: query.actor,
    customerHash: id === undefined ? undefined : secrets.customerHash(entityId, type, id),
  };
}

/** Audits a reading: the reader, the person in the filter, and only the names of other filters. */
function auditReading(
  tx: Queryable,
  who: { caller: Caller; address: string },
  query: Filters,
  { customerHash }: AuditFilter,
  how: 'read' | 'export',
): Promise<void> {
  const names = Object.keys(api.auditFilters).filter(
    (name) => name !== 'customer_id_type' && query[name as keyof Filters] !== undefined,
  );
  return audit(tx, who, {
    action: 'read',
    subjectKind: 'audit_log',
    customerHash: customerHash ?? null,
    details: { how, filters: names.join(' ') },
  });
}

function showEntry(entry: StoredAuditEntry): api.AuditEntry {
  return {
    id: entry.id,
    date: entry.happenedAt.toISOString(),
    actor_kind: entry.actorKind,
    actor_id: entry.actorId,
    actor: entry.actor,
    actor_name: entry.actorName,
    address: entry.address,
    action: entry.action,
    subject_kind: entry.subjectKind,
    subject: entry.subject,
    customer_hash: entry.customerHash?.toString('hex') ?? null,
    details: entry.details,
  };
}

async function* lines(entries: AsyncIterable<StoredAuditEntry>): AsyncGenerator<string[]> {
  for await (const entry of entries) {
    const shown = showEntry(entry);
    yield COLUMNS.map((column) => (column === 'details' ? JSON.stringify(shown.details) : String(shown[column] ?? '')));
  }
}

export const auditLogRoutes: Route[] = [readAuditLog, exportAuditLog];
