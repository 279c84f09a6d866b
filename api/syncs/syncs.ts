/** Syncs: regular copies of a connection's records into attributes or another connection (docs/syncs.md). */
import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import type { Conversion } from '../../domain/attributes/field-conversion.ts';
import { fieldErrors, type GivenField, type MappingError, targetErrors } from '../../domain/syncs/mapping-errors.ts';
import { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { EachMember } from '../../domain/syncs/sync-members.ts';
import { scheduleError, type SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import {
  bodyFlag,
  bodyInteger,
  boundedArray,
  closedObject,
  email,
  identifier,
  jsonObject,
  name,
  stored,
  text,
  ofRevision,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { alertConnections } from './connections.ts';
import { SyncRun } from './sync-runs.ts';

const MAX_WORDS = 1_000;
const field = text();

const EntryBody = closedObject({
  from: field.optional(),
  to: field.optional().describe('Attribute or field to write to; by default the name in from'),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.null()])
    .optional()
    .describe('Constant to write, instead of from'),
  drop: z.boolean().optional().describe('True: leave the field out'),
  as: z.enum(['string', 'number', 'boolean', 'date', 'datetime', 'set']).optional(),
  format: text().optional().describe('For date and datetime: tokens of Luxon, unix (seconds) or unix_ms'),
  zone: text().optional().describe('For times without an offset: an IANA time zone; by default UTC'),
  decimal: z.enum(['.', ',']).optional().describe('For number: the decimal separator'),
  true: boundedArray(field, { max: MAX_WORDS }).optional().describe('For boolean: words that mean true'),
  false: boundedArray(field, { max: MAX_WORDS }).optional().describe('For boolean: words that mean false'),
  separator: text().optional().describe('For set: by default ;'),
} satisfies EachMember<'mapping.fields', z.ZodType>);

type EntryBody = z.output<typeof EntryBody>;

const OPTIONS = ['format', 'zone', 'decimal', 'true', 'false', 'separator'] as const;

export function givenField({ from, to, value, drop, as, ...options }: EntryBody): GivenField {
  const given = Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined));
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(value === undefined ? {} : { value }),
    ...(drop === undefined ? {} : { drop }),
    ...(as === undefined ? {} : { convert: { as, ...given } as Conversion }),
  };
}

const TAKEN: Record<NonNullable<EntryBody['as']>, readonly (typeof OPTIONS)[number][]> = {
  string: [],
  number: ['decimal'],
  boolean: ['true', 'false'],
  date: ['format', 'zone'],
  datetime: ['format', 'zone'],
  set: ['separator'],
};

/** Returns the errors of one entry by itself; the element `''` is the entry. */
function entryErrors(entry: EntryBody): MappingError[] {
  const errors = fieldErrors(givenField(entry), '');
  return [
    ...misplacedIn(entry),
    ...errors.map(({ element, message }) => ({ element: element.replace(/^\./, ''), message })),
  ];
}

function misplacedIn(field: EntryBody): MappingError[] {
  const taken: readonly string[] = field.as === undefined ? [] : TAKEN[field.as];
  return OPTIONS.filter((option) => field[option] !== undefined && !taken.includes(option)).map((option) => ({
    element: option,
    message: `applies to ${kindsOf(option)}, not to ${field.as ?? 'an entry without as'}`,
  }));
}

function kindsOf(option: (typeof OPTIONS)[number]): string {
  return Object.entries(TAKEN)
    .filter(([, options]) => options.includes(option))
    .map(([kind]) => `as: ${kind}`)
    .join(' and ');
}

const Members = closedObject({
  cron: text().optional(),
  zone: text().optional().describe('Time zone of cron, an IANA name; by default UTC'),
  every_minutes: bodyInteger({ min: 1, max: 10_080 }).optional(),
  jitter_seconds: bodyInteger({ min: 0, max: 3_600 })
    .optional()
    .describe('Delay each run by up to this time; by default 0'),
} satisfies EachMember<'schedule', z.ZodType>);

type Members = z.output<typeof Members>;

const ScheduleBody = Members.superRefine((body, ctx) => {
  const error = errorOf(body);
  if (error)
    ctx.addIssue({ code: 'custom', path: error.element === '' ? [] : [error.element], message: error.message });
});

/** `element` is the member's name; '' is the schedule. */
function errorOf(body: Members): { element: string; message: string } | undefined {
  const { cron, zone, every_minutes: everyMinutes } = body;
  if ((cron === undefined) === (everyMinutes === undefined))
    return { element: '', message: 'must have either cron or every_minutes' };
  if (zone !== undefined && cron === undefined)
    return { element: 'zone', message: 'applies to cron, not to every_minutes' };
  const error = scheduleError(givenSchedule(body));
  return error && { ...error, element: error.element.replace('schedule.', '') };
}

export function givenSchedule({
  cron,
  zone,
  every_minutes: everyMinutes,
  jitter_seconds: jitterSeconds = 0,
}: Members): SyncSchedule {
  return cron === undefined
    ? { everyMinutes: everyMinutes!, jitterSeconds }
    : { cron, zone: zone ?? 'UTC', jitterSeconds };
}

const [MAX_KEY_FIELDS, MAX_FIELDS] = [10, 1_000];
const [MAPPING_BYTES, MEMBER_BYTES] = [512 * 1024, 64 * 1024];

/** GET returns the name beside an identifier; callers may send the response back unchanged. */
const shownName = z.unknown().optional().describe('Ignored; GET returns the name here');

const SourceBody = stored(
  MEMBER_BYTES,
  closedObject({
    ...({ connection: identifier, stream: text({ max: 1_000 }) } satisfies EachMember<'source', z.ZodType>),
    name: shownName,
  }),
);

const destinationMembers = {
  sor: identifier.optional().describe('Write to the attributes of this System of Record'),
  connection: identifier.optional().describe('Instead of sor: write to a stream of this connection'),
  stream: text({ max: 1_000 }).optional().describe('Required with connection'),
  key: boundedArray(field, { max: MAX_KEY_FIELDS }).optional().describe('Fields that identify a record in the stream'),
} satisfies EachMember<'destination', z.ZodType>;

const DestinationBody = stored(MEMBER_BYTES, closedObject({ ...destinationMembers, name: shownName }));

/** Lists the errors of each entry, even if other entries have a wrong form. */
const FieldBody = EntryBody.superRefine((entry, ctx) => {
  for (const { element, message } of entryErrors(entry)) {
    ctx.addIssue({ code: 'custom', path: element === '' ? [] : element.split('.'), message });
  }
});

const FieldsBody = boundedArray(FieldBody, { max: MAX_FIELDS }).superRefine((entries, ctx) => {
  const targets = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const errors = targetErrors(givenField(entry), index, targets);
    for (const { message } of errors) ctx.addIssue({ code: 'custom', path: [index, 'to'], message });
  }
});

const CustomerBody = closedObject({
  field,
  type: z.enum(CUSTOMER_TYPES).optional().describe('By default user_id'),
} satisfies EachMember<'mapping.customer', z.ZodType>);

const MappingBody = closedObject({
  customer: CustomerBody.nullable().optional(),
  fields: FieldsBody.optional(),
  other_fields: z
    .enum(['keep', 'drop'])
    .optional()
    .describe('Fields without an entry: by default keep if fields is empty, else drop'),
  empty: z.enum(['fail', 'remove']).optional().describe('Effect of an empty text: fail (default), or remove the value'),
} satisfies EachMember<'mapping', z.ZodType>);

const AlertsBody = closedObject({
  emails: boundedArray(email, { max: 20 })
    .optional()
    .describe('Recipients of mails about the sync; by default the user who makes it'),
  connections: alertConnections
    .optional()
    .describe('Connections that get the alerts, too, such as one to Slack; by default none'),
  failed_records: bodyInteger({ min: 1, max: 1_000_000_000 })
    .nullable()
    .optional()
    .describe('Send an alert about each run with at least this many failed records; null (default): never'),
  pause_after: bodyInteger({ min: 1, max: 1_000 })
    .nullable()
    .optional()
    .describe('Pause the sync after this many failed runs in a row; by default 5; null: never'),
} satisfies EachMember<'alerts', z.ZodType>);

const others = {
  mapping: jsonObject(stored(MAPPING_BYTES, MappingBody)).optional(),
  mode: z.enum(['full', 'incremental']).optional().describe('By default full'),
  cursor_field: field
    .nullable()
    .optional()
    .describe('For incremental: field by which to find new records, unless the source keeps its own state'),
  removes: bodyFlag
    .optional()
    .describe(
      'Remove records that the source no longer has; by default false. For incremental only with a source that ' +
        'reports deletions (singer, airbyte, hubspot, salesforce, zendesk)',
    ),
  removal_limit: bodyInteger({ min: 0, max: 100 })
    .optional()
    .describe('Percentage of known records: if more vanish, a run removes nothing; by default 50'),
  schedule: jsonObject(stored(MEMBER_BYTES, ScheduleBody.nullable()))
    .optional()
    .describe('Null (default): the sync runs on request only'),
  on_schema_change: z
    .enum(SCHEMA_RULES)
    .optional()
    .describe("Reaction to changes of the source's fields; by default ignore"),
  alerts: jsonObject(stored(MEMBER_BYTES, AlertsBody)).optional(),
} satisfies Omit<EachMember<'', z.ZodType>, 'name' | 'source' | 'destination'>;

export const NewSync = z
  .object({
    name,
    source: jsonObject(SourceBody),
    destination: jsonObject(DestinationBody),
    ...others,
  } satisfies EachMember<'', z.ZodType>)
  .meta({ id: 'NewSync' });
export type NewSync = z.output<typeof NewSync>;

export const SyncChange = z
  .object({
    name: name.optional(),
    source: jsonObject(SourceBody).optional(),
    destination: jsonObject(DestinationBody).optional(),
    ...others,
    revision: ofRevision,
  })
  .meta({ id: 'SyncChange' });
export type SyncChange = z.output<typeof SyncChange>;

const instant = z.iso.datetime().nullable();
const texts = z.array(z.string());

/** The definition of a sync, with defaults for the members that the request left out. */
export const SyncDefinition = z
  .object({
    name: z.string(),
    source: z.object({
      connection: z.string(),
      stream: z.string(),
      name: z.string().describe('Name of the connection'),
    }),
    destination: z.object({
      sor: z.string().optional(),
      connection: z.string().optional(),
      stream: z.string().optional(),
      key: z.array(z.string()).optional(),
      name: z.string().nullable().describe('Name of the System of Record or connection; null once it is deleted'),
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
    schedule: z
      .object({
        cron: z.string().optional(),
        zone: z.string().optional(),
        every_minutes: z.int().optional(),
        jitter_seconds: z.int(),
      })
      .nullable(),
    on_schema_change: z.enum(SCHEMA_RULES),
    alerts: z.object({
      emails: texts,
      connections: texts,
      failed_records: z.int().nullable(),
      pause_after: z.int().nullable(),
    }),
  })
  .meta({ id: 'SyncDefinition' });
export type SyncDefinition = z.output<typeof SyncDefinition>;

export const Sync = SyncDefinition.extend({
  identifier: z.string(),
  revision: z.int().describe('Increases with each change'),
  state: z.enum(['active', 'paused']),
  paused_at: instant,
  paused_reason: z.string().nullable(),
  failures: z.int().describe('Number of failed runs since the last that finished'),
  next_runs: z.array(z.iso.datetime()).describe('The next three scheduled times'),
  fields: z
    .array(z.object({ name: z.string(), type: z.string() }))
    .nullable()
    .describe('Known fields of the source; null before the first run'),
  last_run: z
    .object({ run_id: z.string(), state: z.string(), started_at: instant, ended_at: instant, failed_records: z.int() })
    .nullable(),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}).meta({ id: 'Sync' });
export type Sync = z.output<typeof Sync>;

/** A sync copies a stream of a connection to attributes or to another connection. */
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
  description: 'The sync runs by its schedule, or when you call POST /api/syncs/<sync_id>/run.',
  audits: 'create sync',
  body: NewSync,
  result: Sync,
});

export const validateSync = operation({
  id: 'validateSync',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/validate`,
  summary: 'Validate the definition of a sync without storing it',
  description:
    'Returns the definition with defaults for members that you left out, also with sync_id. Only alerts.emails stays as it is.',
  body: NewSync.extend({
    sync_id: identifier.optional().describe('Also refuse changes that this sync does not allow'),
  }),
  result: z.object({ valid: z.literal(true), definition: SyncDefinition }),
});

export const updateSync = operation({
  id: 'updateSync',
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/:sync_id`,
  summary: 'Change a sync',
  description:
    'Members that you leave out stay as they are, also within alerts. mapping and schedule replace the earlier ones as a ' +
    'whole. Once the sync has written records, source, destination and mapping.customer cannot change: they identify the records.',
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
  summary: 'Delete a sync',
  description:
    'Records that the sync wrote stay. Millrace cancels its runs, and deletes them with their errors soon after.',
  audits: 'delete sync',
  params,
});

const ONE_SYNC = { tag: 'Syncs', right: 'sor_manage', params: z.object({ sync_id: identifier }) } as const;
const ONE = '/api/syncs/:sync_id';
export const DRY_RUN_RECORDS = { usual: 1_000, most: 10_000 };

export const pauseSync = operation({
  id: 'pauseSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/pause`,
  summary: 'Pause the schedule of a sync',
  description:
    'A run under way continues; you can cancel it. Millrace cancels scheduled runs that wait. You can still run it by hand.',
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
  description: 'The next run takes the current fields. Later runs compare the source with them.',
  audits: 'update sync',
  result: Sync,
});

export const runSync = operation({
  id: 'runSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/run`,
  summary: 'Run a sync now',
  description: 'If a run is under way, the new run waits for its end.',
  audits: 'create sync_run',
  body: z.object({
    fresh: bodyFlag
      .optional()
      .describe('Read from the beginning and write each record again, even if it did not change'),
    confirm_removals: bodyFlag.optional().describe('Remove vanished records even beyond removal_limit'),
  }),
  result: SyncRun,
});

export const dryRunSync = operation({
  id: 'dryRunSync',
  ...ONE_SYNC,
  method: 'POST',
  path: `${ONE}/dry_run`,
  summary: 'Dry-run a sync over its first records',
  description: 'Writes nothing. To see what would change, call GET /api/syncs/<sync_id>/runs/<run_id>/sample.',
  audits: 'create sync_run',
  body: z.object({
    records: bodyInteger({ min: 1, max: DRY_RUN_RECORDS.most })
      .optional()
      .describe('Number of records to read; by default 1,000'),
  }),
  result: SyncRun,
});
