import { z } from 'zod';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import {
  type AuditFilter, type AuditPlace, listAuditEntries, type StoredAuditEntry, streamAuditEntries,
} from '../../store/accounts/audit-log-entries.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { customerId, identifier, isoDatetime, pageNumber } from '../http/input.ts';
import { placeCursor, writeCursor } from '../http/place-cursor.ts';
import { streamedCsvFile } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const SHARED = { tag: 'Audit log', role: 'admin' } as const;
const PATH = '/api/audit_log';

const filters = {
  from: isoDatetime.optional(),
  till: isoDatetime.optional().describe('Up to, and without, this time'),
  action: z.enum(AUDIT_ACTIONS).optional(),
  subject_kind: z.enum(SUBJECT_KINDS).optional(),
  subject: identifier.optional().describe('An identifier of ours'),
  actor_kind: z.enum(ACTOR_KINDS).optional(),
  actor: identifier.optional().describe('uid of a user, identifier of a service token or System of Records, or actor_id'),
  customer_id: customerId.optional().describe('Entries that concern this person'),
  customer_id_type: z.enum(CUSTOMER_TYPES).default('user_id'),
};
type Filters = z.output<z.ZodObject<typeof filters>>;

/** The place of the last entry of a page. */
const cursor = placeCursor.transform(({ micros, id }): AuditPlace => ({ happenedAtMicros: micros, id }));

const AuditEntryRecord = z.object({
  id: z.int(),
  date: z.iso.datetime(),
  actor_kind: z.enum(ACTOR_KINDS),
  actor_id: z.int().nullable(),
  actor: z.string().nullable(),
  actor_name: z.string().nullable(),
  address: z.string().nullable(),
  action: z.enum(AUDIT_ACTIONS),
  subject_kind: z.enum(SUBJECT_KINDS),
  subject: z.string().nullable(),
  customer_hash: z.string().nullable().describe('The person concerned, as a keyed hash'),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

const readAuditLog = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'Read the audit log, newest first',
  description: 'Following `next` shows each entry once, whatever is written meanwhile. Reading it is audited, too.',
  query: z.object({
    ...filters,
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: cursor.optional().describe('As `next` has it'),
  }),
  result: z.object({ entries: z.array(AuditEntryRecord), next: z.string().nullable() }),
  async handle({ query, ...who }, { db, secrets, settings }) {
    const { entityId } = who.caller;
    const filter = filterOf(secrets, entityId, query);
    const found = await write(db, async (tx) => {
      const entries = await listAuditEntries(tx, entityId, filter, query.cursor ?? null, query.per_page + 1);
      await auditReading(tx, who, query, filter, 'read');
      return entries;
    });
    const entries = found.slice(0, query.per_page);
    const next = found.length > entries.length ? `${settings.publicUrl}${PATH}?${nextQuery(query, entries.at(-1)!)}` : null;
    return { entries: entries.map(showEntry), next };
  },
});

const COLUMNS = [
  'id', 'date', 'actor_kind', 'actor_id', 'actor', 'actor_name', 'address', 'action', 'subject_kind', 'subject',
  'customer_hash', 'details',
] as const;

const exportAuditLog = route({
  ...SHARED,
  method: 'GET',
  path: `${PATH}.csv`,
  summary: 'Download the matching audit log entries as CSV, newest first',
  query: z.object(filters),
  contentType: 'text/csv',
  async handle({ query, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    const filter = filterOf(secrets, entityId, query);
    await write(db, (tx) => auditReading(tx, who, query, filter, 'export'));
    return streamedCsvFile('audit_log', [...COLUMNS], lines(streamAuditEntries(db, entityId, filter)));
  },
});

function filterOf(secrets: Secrets, entityId: number, query: Filters): AuditFilter {
  const { customer_id: id, customer_id_type: type } = query;
  return {
    from: query.from, till: query.till, action: query.action, subjectKind: query.subject_kind, subject: query.subject,
    actorKind: query.actor_kind, actor: query.actor,
    customerHash: id === undefined ? undefined : secrets.customerHash(entityId, type, id),
  };
}

/** Who looked, and of whom if it was for a person; the filters by their names alone. */
function auditReading(
  tx: Queryable, who: { caller: Caller; address: string }, query: Filters, { customerHash }: AuditFilter, how: 'read' | 'export',
): Promise<void> {
  const names = Object.keys(filters).filter((name) => name !== 'customer_id_type' && query[name as keyof Filters] !== undefined);
  return audit(tx, who, {
    action: 'read', subjectKind: 'audit_log', customerHash: customerHash ?? null, details: { how, filters: names.join(' ') },
  });
}

function nextQuery({ cursor: _, ...query }: Filters & { per_page: number; cursor?: AuditPlace }, last: StoredAuditEntry): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  parameters.set('cursor', writeCursor(last.happenedAtMicros, last.id));
  return parameters;
}

function showEntry(entry: StoredAuditEntry): z.input<typeof AuditEntryRecord> {
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
