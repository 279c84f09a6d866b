import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { targetFaults } from '../../domain/syncs/mapping-faults.ts';
import { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { EachMember } from '../../domain/syncs/sync-members.ts';
import { bodyFlag, bodyInteger, closedObject, email, identifier, jsonObject, name, text } from '../http/input.ts';
import { EntryBody, entryFaults, givenField } from './sync-entry.ts';
import { ScheduleBody } from './sync-schedule.ts';

/** A sync as a caller says it (docs/syncs.md). */

const MAX_EMAILS = 20;
const MAX_KEY_FIELDS = 10;
const MAX_FIELDS = 1_000;

const field = text();
/** Shown beside an identifier, so what is shown may be sent back. */
const shownName = z.unknown().optional().describe('Ignored: GET shows the name');

const SourceBody = closedObject({
  ...{ connection: identifier, stream: text({ max: 1_000 }) } satisfies EachMember<'source', z.ZodType>, name: shownName,
});

const destinationMembers = {
  sor: identifier.optional().describe('The attributes of this System of Record; or'),
  connection: identifier.optional().describe('a stream of this connection'),
  stream: text({ max: 1_000 }).optional(),
  key: z.array(field).max(MAX_KEY_FIELDS).optional().describe('The fields that name a record there'),
} satisfies EachMember<'destination', z.ZodType>;

const DestinationBody = closedObject({ ...destinationMembers, name: shownName });

/** Faults of an entry by itself are told beside those of form that others have. */
const FieldBody = EntryBody.superRefine((entry, ctx) => {
  for (const { element, message } of entryFaults(entry)) {
    ctx.addIssue({ code: 'custom', path: element === '' ? [] : element.split('.'), message });
  }
});

const FieldsBody = z.array(FieldBody).max(MAX_FIELDS).superRefine((entries, ctx) => {
  const targets = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const faults = targetFaults(givenField(entry), index, targets);
    for (const { message } of faults) ctx.addIssue({ code: 'custom', path: [index, 'to'], message });
  }
});

const CustomerBody = closedObject({
  field, type: z.enum(CUSTOMER_TYPES).optional().describe('By default user_id'),
} satisfies EachMember<'mapping.customer', z.ZodType>);

const MappingBody = closedObject({
  customer: CustomerBody.nullable().optional(),
  fields: FieldsBody.optional(),
  other_fields: z.enum(['keep', 'drop']).optional().describe('By default keep where fields is empty, else drop'),
  empty: z.enum(['fail', 'remove']).optional().describe('What an empty text does; by default fail'),
} satisfies EachMember<'mapping', z.ZodType>);

const AlertsBody = closedObject({
  emails: z.array(email).max(MAX_EMAILS).optional().describe('By default who makes the sync'),
  failed_records: bodyInteger({ min: 1, max: 1_000_000_000 }).nullable().optional()
    .describe('Mail about runs with at least so many failed records; null: never'),
  pause_after: bodyInteger({ min: 1, max: 1_000 }).nullable().optional()
    .describe('Failed runs in a row after which the sync is paused; by default 5, null: never'),
} satisfies EachMember<'alerts', z.ZodType>);

const others = {
  mapping: jsonObject(MappingBody).optional(),
  mode: z.enum(['full', 'incremental']).optional().describe('By default full'),
  cursor_field: field.nullable().optional().describe('Of incremental, unless the source keeps its own state'),
  removes: bodyFlag.optional().describe('Of full: what the source has no more is removed'),
  removal_limit: bodyInteger({ min: 0, max: 100 }).optional().describe('Percent of the known records; by default 50'),
  schedule: jsonObject(ScheduleBody.nullable()).optional(),
  on_schema_change: z.enum(SCHEMA_RULES).optional().describe('By default ignore'),
  alerts: jsonObject(AlertsBody).optional(),
} satisfies Omit<EachMember<'', z.ZodType>, 'name' | 'source' | 'destination'>;

export const SyncBody = z.object({
  name, source: jsonObject(SourceBody), destination: jsonObject(DestinationBody), ...others,
} satisfies EachMember<'', z.ZodType>);

/** Of a change: what is left out stays. */
export const SyncChange = z.object({
  name: name.optional(), source: jsonObject(SourceBody).optional(), destination: jsonObject(DestinationBody).optional(), ...others,
});

export type SyncChange = z.output<typeof SyncChange>;
