import { z } from 'zod';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { customerId, identifier, isoDatetime, pageNumber } from '../core/input.ts';
import { listCursor } from '../core/list-cursor.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Audit log', role: 'admin' } as const;
const PATH = '/api/audit_log';

export const auditFilters = {
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

export const AuditEntry = z.object({
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
}).meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntry>;

export const listAuditEntries = operation({
  id: 'listAuditEntries',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'Read the audit log, newest first',
  description: 'Following `next` shows each entry once, whatever is written meanwhile. Reading it is audited, too.',
  audits: 'read audit_log',
  query: z.object({
    ...auditFilters,
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('As `next` has it'),
  }),
  result: z.object({ entries: z.array(AuditEntry), next: z.string().nullable() }),
});

export const exportAuditLog = operation({
  id: 'exportAuditLog',
  ...SHARED,
  method: 'GET',
  path: `${PATH}.csv`,
  summary: 'Download the matching audit log entries as CSV, newest first',
  audits: 'read audit_log',
  query: z.object(auditFilters),
  contentType: 'text/csv',
});
