import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import type { Conversion } from '../../domain/attributes/field-conversion.ts';
import { fieldErrors, type GivenField, type MappingError, targetErrors } from '../../domain/syncs/mapping-errors.ts';
import { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { EachMember } from '../../domain/syncs/sync-members.ts';
import { scheduleError, type SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import { bodyFlag, bodyInteger, closedObject, email, identifier, jsonObject, name, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { SyncRun } from './sync-runs.ts';

const MAX_WORDS = 1_000;
const field = text();

const EntryBody = closedObject({
  from: field.optional(),
  to: field.optional().describe('The attribute or field; by default as in from'),
  value: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional().describe('A constant, instead of from'),
  drop: z.boolean().optional(),
  as: z.enum(['string', 'number', 'boolean', 'date', 'datetime', 'set']).optional(),
  format: text().optional().describe('Of a date or datetime: tokens of Luxon, or unix, or unix_ms'),
  zone: text().optional().describe('Of times without an offset: an IANA zone, by default UTC'),
  decimal: z.enum(['.', ',']).optional(),
  true: z.array(field).max(MAX_WORDS).optional(),
  false: z.array(field).max(MAX_WORDS).optional(),
  separator: text().optional().describe('Of a set'),
} satisfies EachMember<'mapping.fields', z.ZodType>);

type EntryBody = z.output<typeof EntryBody>;

/** What the members of an entry that convert are called, beside `as`. */
const OPTIONS = ['format', 'zone', 'decimal', 'true', 'false', 'separator'] as const;

/** The entry as the domain has it. */
export function givenField({ from, to, value, drop, as, ...options }: EntryBody): GivenField {
  const given = Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined));
  return {
    ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), ...(value === undefined ? {} : { value }),
    ...(drop === undefined ? {} : { drop }), ...(as === undefined ? {} : { convert: { as, ...given } as Conversion }),
  };
}

const TAKEN: Record<NonNullable<EntryBody['as']>, readonly (typeof OPTIONS)[number][]> = {
  string: [], number: ['decimal'], boolean: ['true', 'false'], date: ['format', 'zone'], datetime: ['format', 'zone'], set: ['separator'],
};

/** What is wrong with an entry by itself; `''` is the entry. */
function entryErrors(entry: EntryBody): MappingError[] {
  const errors = fieldErrors(givenField(entry), '');
  return [...misplacedIn(entry), ...errors.map(({ element, message }) => ({ element: element.replace(/^\./, ''), message }))];
}

/** What it has that its kind of conversion has no use for. */
function misplacedIn(field: EntryBody): MappingError[] {
  const taken: readonly string[] = field.as === undefined ? [] : TAKEN[field.as];
  return OPTIONS.filter((option) => field[option] !== undefined && !taken.includes(option)).map((option) => ({
    element: option, message: `is of ${kindsOf(option)}, not of ${field.as ?? 'an entry without as'}`,
  }));
}

function kindsOf(option: (typeof OPTIONS)[number]): string {
  return Object.entries(TAKEN).filter(([, options]) => options.includes(option)).map(([kind]) => `as: ${kind}`).join(' and ');
}

/** When a sync runs, as a caller says it (docs/syncs.md). */
const Members = closedObject({
  cron: text().optional(),
  zone: text().optional().describe('Of cron: an IANA zone, by default UTC'),
  every_minutes: bodyInteger({ min: 1, max: 10_080 }).optional(),
  jitter_seconds: bodyInteger({ min: 0, max: 3_600 }).optional(),
} satisfies EachMember<'schedule', z.ZodType>);

type Members = z.output<typeof Members>;

const ScheduleBody = Members.superRefine((body, ctx) => {
  const error = errorOf(body);
  if (error) ctx.addIssue({ code: 'custom', path: error.element === '' ? [] : [error.element], message: error.message });
});

/** By the member's name; '' is the schedule. */
function errorOf(body: Members): { element: string; message: string } | undefined {
  const { cron, zone, every_minutes: everyMinutes } = body;
  if ((cron === undefined) === (everyMinutes === undefined)) return { element: '', message: 'must have either cron or every_minutes' };
  if (zone !== undefined && cron === undefined) return { element: 'zone', message: 'is of cron: every_minutes knows no clock' };
  const error = scheduleError(givenSchedule(body));
  return error && { ...error, element: error.element.replace('schedule.', '') };
}

/** Of a body that was taken. */
export function givenSchedule({ cron, zone, every_minutes: everyMinutes, jitter_seconds: jitterSeconds = 0 }: Members): SyncSchedule {
  return cron === undefined ? { everyMinutes: everyMinutes!, jitterSeconds } : { cron, zone: zone ?? 'UTC', jitterSeconds };
}

const MAX_EMAILS = 20;
const MAX_KEY_FIELDS = 10;
const MAX_FIELDS = 1_000;

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

/** Errors of an entry by itself are listed beside errors of form that others have. */
const FieldBody = EntryBody.superRefine((entry, ctx) => {
  for (const { element, message } of entryErrors(entry)) {
    ctx.addIssue({ code: 'custom', path: element === '' ? [] : element.split('.'), message });
  }
});

const FieldsBody = z.array(FieldBody).max(MAX_FIELDS).superRefine((entries, ctx) => {
  const targets = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const errors = targetErrors(givenField(entry), index, targets);
    for (const { message } of errors) ctx.addIssue({ code: 'custom', path: [index, 'to'], message });
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

export const NewSync = z.object({
  name, source: jsonObject(SourceBody), destination: jsonObject(DestinationBody), ...others,
} satisfies EachMember<'', z.ZodType>).meta({ id: 'NewSync' });
export type NewSync = z.output<typeof NewSync>;

/** Of a change: what is left out stays. */
export const SyncChange = z.object({
  name: name.optional(), source: jsonObject(SourceBody).optional(), destination: jsonObject(DestinationBody).optional(), ...others,
}).meta({ id: 'SyncChange' });
export type SyncChange = z.output<typeof SyncChange>;

const instant = z.iso.datetime().nullable();

/** What its makers said of a sync, with what they left out. */
export const SyncDefinition = z.object({
  name: z.string(),
  source: z.object({ connection: z.string(), stream: z.string(), name: z.string().describe('Of the connection') }),
  destination: z.object({
    sor: z.string().optional(), connection: z.string().optional(), stream: z.string().optional(), key: z.array(z.string()).optional(),
    name: z.string().nullable().describe('Of the System of Record or connection; null once that is deleted'),
  }),
  mapping: z.object({
    customer: z.object({ field: z.string(), type: z.string() }).nullable(),
    fields: z.array(z.record(z.string(), z.unknown())),
    other_fields: z.enum(['keep', 'drop']),
    empty: z.enum(['fail', 'remove']),
  }),
  mode: z.enum(['full', 'incremental']),
  cursor_field: z.string().nullable(),
  removes: z.boolean(),
  removal_limit: z.int(),
  schedule: z.object({
    cron: z.string().optional(), zone: z.string().optional(), every_minutes: z.int().optional(), jitter_seconds: z.int(),
  }).nullable(),
  on_schema_change: z.enum(SCHEMA_RULES),
  alerts: z.object({ emails: z.array(z.string()), failed_records: z.int().nullable(), pause_after: z.int().nullable() }),
}).meta({ id: 'SyncDefinition' });
export type SyncDefinition = z.output<typeof SyncDefinition>;

/** A sync as it is shown: as its makers said it, and how it stands. */
export const Sync = SyncDefinition.extend({
  identifier: z.string(),
  revision: z.int().describe('Raised by each change'),
  state: z.enum(['active', 'paused']),
  paused_at: instant,
  paused_reason: z.string().nullable(),
  failures: z.int().describe('Runs that failed since the last that didn\'t'),
  next_runs: z.array(z.iso.datetime()).describe('The next scheduled times'),
  fields: z.array(z.object({ name: z.string(), type: z.string() })).nullable()
    .describe('Of the source, as they are known; null until a run has looked'),
  last_run: z.object({ run_id: z.string(), state: z.string(), started_at: instant, ended_at: instant, failed_records: z.int() }).nullable(),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}).meta({ id: 'Sync' });
export type Sync = z.output<typeof Sync>;

/** Which stream of a connection goes where, and when. */
const SHARED = { tag: 'Syncs', right: 'sor_manage' } as const;
const PATH = '/api/syncs';
const params = z.object({ sync_id: identifier });

export const listSyncs = operation({
  id: 'listSyncs',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List syncs with their status',
  query: z.object(pageQuery),
  result: pageOf(Sync),
});

export const viewSync = operation({
  id: 'viewSync',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:sync_id`,
  summary: 'View a sync with its status',
  params,
  result: Sync,
});

export const createSync = operation({
  id: 'createSync',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a sync',
  description: 'It runs when its schedule says so, or when asked to: POST /api/syncs/<sync_id>/run.',
  audits: 'create sync',
  body: NewSync,
  result: Sync,
});

export const validateSync = operation({
  id: 'validateSync',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/validate`,
  summary: 'Validate the definition of a sync; nothing is stored',
  description: 'Answers it with all that was left out: by default, also where sync_id is given; only its alerts.emails stay.',
  body: NewSync.extend({ sync_id: identifier.optional().describe('Of one that it is to take the place of') }),
  result: z.object({ valid: z.literal(true), definition: SyncDefinition }),
});

export const updateSync = operation({
  id: 'updateSync',
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/:sync_id`,
  summary: 'Change a sync',
  description: 'Members that are left out stay, also those of alerts; mapping and schedule are replaced as they are given. Once records '
    + 'were written, source, destination and mapping.customer stay: they name the records.',
  audits: 'update sync',
  params,
  body: SyncChange,
  result: Sync,
});

export const deleteSync = operation({
  id: 'deleteSync',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:sync_id`,
  summary: 'Delete a sync; what it wrote stays',
  description: 'A run that is under way is canceled. What its runs noted down is deleted soon after.',
  audits: 'delete sync',
  params,
});

/** What is done with a sync besides changing it. */
const ONE_SYNC = { tag: 'Syncs', right: 'sor_manage', params: z.object({ sync_id: identifier }) } as const;
const ONE = '/api/syncs/:sync_id';
export const DRY_RUN_RECORDS = { usual: 1_000, most: 10_000 };

export const pauseSync = operation({
  id: 'pauseSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/pause`,
  summary: 'Pause the schedule of a sync',
  description: 'A run under way goes on, and can be canceled; those that wait are canceled. By hand it can be run all the same.',
  audits: 'update sync',
  result: Sync,
});

export const resumeSync = operation({
  id: 'resumeSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/resume`,
  summary: 'Resume the schedule of a paused sync',
  audits: 'update sync',
  result: Sync,
});

export const acceptSyncSchema = operation({
  id: 'acceptSyncSchema',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/accept_schema`,
  summary: 'Accept the current fields of the source',
  description: 'The next run takes the current fields and compares later runs with them.',
  audits: 'update sync',
  result: Sync,
});

export const runSync = operation({
  id: 'runSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/run`,
  summary: 'Run a sync now, or once the run under way has ended',
  audits: 'create sync_run',
  body: z.object({
    fresh: bodyFlag.optional().describe('Reads from the beginning and writes each record again, also those that did not change'),
    confirm_removals: bodyFlag.optional().describe('What has vanished is removed, however much it is'),
  }),
  result: SyncRun,
});

export const dryRunSync = operation({
  id: 'dryRunSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/dry_run`,
  summary: 'Dry-run a sync over its first records; nothing is written',
  description: 'What would change of some of them: GET /api/syncs/<sync_id>/runs/<run_id>/sample.',
  audits: 'create sync_run',
  body: z.object({
    records: bodyInteger({ min: 1, max: DRY_RUN_RECORDS.most }).optional().describe('So many are looked at; by default 1,000'),
  }),
  result: SyncRun,
});
