/** The audit log of an entity: read it, or download it as CSV. */
import { z } from 'zod';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { customerId, identifier, isoDatetime, pageNumber } from '../core/input.ts';
import { listCursor } from '../core/page.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Audit log', role: 'admin' } as const;
const PATH = '/api/audit_log';

export const auditFilters = {
  from: isoDatetime.optional().describe('Only entries from this time on'),
  till: isoDatetime.optional().describe('Only entries before this time'),
  action: z.enum(AUDIT_ACTIONS).optional(),
  subject_kind: z.enum(SUBJECT_KINDS).optional(),
  subject: identifier.optional().describe('Identifier of the object concerned'),
  actor_kind: z.enum(ACTOR_KINDS).optional(),
  actor: identifier
    .optional()
    .describe('uid of a user, identifier of a service token or System of Records, or the actor_id of an entry'),
  customer_id: customerId.optional().describe('Entries that concern this person'),
  customer_id_type: z.enum(CUSTOMER_TYPES).default('user_id'),
};

export const AuditEntry = z
  .object({
    id: z.int(),
    date: z.iso.datetime(),
    actor_kind: z.enum(ACTOR_KINDS),
    actor_id: z.int().nullable(),
    actor: z.string().nullable().describe('uid of a user, or identifier of a service token or System of Records'),
    actor_name: z.string().nullable().describe('E-mail address of a member of the entity, or a name'),
    address: z.string().nullable().describe('Network address of the caller'),
    action: z.enum(AUDIT_ACTIONS),
    subject_kind: z.enum(SUBJECT_KINDS),
    subject: z.string().nullable(),
    customer_hash: z.string().nullable().describe('Keyed hash of the person concerned'),
    details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntry>;

export const listAuditEntries = operation({
  id: 'listAuditEntries',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'Read the audit log, newest first',
  description: 'If you follow `next`, you see each entry once, whatever Millrace adds meanwhile.',
  audits: 'read audit_log',
  query: z.object({
    ...auditFilters,
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({
    entries: z.array(AuditEntry),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
  }),
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
