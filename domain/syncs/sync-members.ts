/** Members of a sync's definition by path. A reader of a file refuses any other; the interface ignores it. */
export const SYNC_MEMBERS = {
  '': [
    'name',
    'source',
    'destination',
    'mapping',
    'mode',
    'cursor_field',
    'removes',
    'removal_limit',
    'schedule',
    'on_schema_change',
    'alerts',
  ],
  source: ['connection', 'stream'],
  destination: ['sor', 'connection', 'stream', 'key'],
  mapping: ['customer', 'fields', 'other_fields', 'empty'],
  'mapping.customer': ['field', 'type'],
  'mapping.fields': ['from', 'to', 'value', 'drop', 'as', 'format', 'zone', 'decimal', 'true', 'false', 'separator'],
  schedule: ['cron', 'zone', 'every_minutes', 'jitter_seconds'],
  alerts: ['emails', 'connections', 'failed_records', 'pause_after'],
} as const;

/** A schema for each of the members at `P`, and for nothing else. */
export type EachMember<P extends keyof typeof SYNC_MEMBERS, S> = { [member in (typeof SYNC_MEMBERS)[P][number]]: S };
