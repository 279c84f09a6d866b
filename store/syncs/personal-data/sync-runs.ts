import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

/** A record of a sample that names one: its line and outcome name nobody. */
const NAMED_RECORD = namedIn(`(record - '{line,outcome}'::text[])::text`);
const SAMPLE_NAMING = `EXISTS (SELECT FROM jsonb_array_elements(sample) AS record WHERE ${NAMED_RECORD})`;

const PLACES = ['cursor_before', 'position'] as const;
const TEXTS = ['fault', 'failure', 'removal_reason'] as const;

const WITHOUT_THEM = [
  ...PLACES.map((column) => `${column} = CASE WHEN ${namedIn(column)} THEN NULL ELSE ${column} END`),
  ...TEXTS.map((column) => `${column} = CASE WHEN ${namedIn(column)} THEN '${ERASED}' ELSE ${column} END`),
  `sample = CASE WHEN ${SAMPLE_NAMING} THEN (
     SELECT coalesce(jsonb_agg(record ORDER BY ordinal), '[]') FROM jsonb_array_elements(sample) WITH ORDINALITY AS shown (record, ordinal)
     WHERE NOT ${NAMED_RECORD}) ELSE sample END`,
].join(',\n  ');

export const syncRuns: PersonalDataLocation = {
  name: 'sync_runs',
  columns: [...PLACES, ...TEXTS, 'sample'],
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'sync_id',
    'cause',
    'requested_by',
    'scheduled_for',
    'covers',
    'dry_run',
    'dry_run_records',
    'fresh',
    'removals_confirmed',
    'root_id',
    'state',
    'generation',
    'run_id',
    'received_at',
    'started_at',
    'ended_at',
    'canceled_at',
    'is_begun',
    'stage',
    'is_read',
    'records_read',
    'records_written',
    'records_unchanged',
    'records_ignored',
    'records_failed',
    'unnamed',
    'suspicious_ids',
    'errors_by_type',
    'bytes',
    'batches_taken',
    'records_taken',
    'lanes_done',
    'removed',
    'removal',
    'schema_change',
    'unmapped_fields',
    'odd_cursors',
    'missing_fields',
    'answered',
    'share',
    'tries',
    'failing_since',
    'waits_until',
    'failure_status',
    'mail_state',
    'mail_tries',
    'mail_reason',
    'mail_due_at',
    'alert',
  ],
  holds: "a run's cursors and faults, the records that a dry run shows",
  foundBy: 'the id within them',
  erasedBy:
    'replacing a cursor with NULL and a text with `erased`, and removing the records; the rows stay, since ' +
    'they are the history',
  ...textsOfPeople({
    table: 'sync_runs',
    keys: { id: 'bigint' },
    rowsAtOnce: 100,
    text: `concat_ws(E'\\n', ${[...PLACES, ...TEXTS].join(', ')}, sample::text)`,
    naming: `${[...PLACES, ...TEXTS].map(namedIn).join('\n  OR ')}\n  OR ${SAMPLE_NAMING}`,
    within: 'identifier',
    // The rows stay, for their counts. A run under way that loses its position goes on where it is; only should it have
    // to start anew, it begins at the beginning, as one whose source has changed.
    change: `UPDATE sync_runs SET ${WITHOUT_THEM}`,
  }),
};
