/** Entries that need attention: `ATTENTION` has one value for each kind of entry and object. */
import type { Right } from '../../domain/accounts/rights.ts';
import type { AttentionKind, AttentionObject } from '../../domain/jobs/attention.ts';
import { INTERNAL_FAILURE } from '../../domain/imports/import-error-type.ts';
import { UNCLOSED_QUOTE } from '../../domain/imports/import-file.ts';
import { JOB_KINDS, type JobKind } from '../../domain/jobs/job.ts';
import { settledRows } from '../imports/import-errors.ts';
import { isFree, STORED_JOBS } from './jobs.ts';

export type AttentionNeed = Right | 'admin' | 'superadmin';

export type AttentionSource = {
  kind: AttentionKind;
  object: AttentionObject;
  /** The caller needs all of these to see the entries: those that show the object. */
  needs: readonly AttentionNeed[];
  toDo: string;
  /** Selects `id`, `name`, `run` (texts, or null), `since` and `reason` for entity $1, by an index. */
  select: string;
};

const EXPORTER_RIGHTS = ['sor_manage', 'usage_analytics_view'] as const;

/** How an entry names a job: its object, and a query of the object's `id`, `name` and `run` for a job `j`. */
const JOB_OBJECTS: Record<JobKind, Pick<AttentionSource, 'object' | 'needs'> & { columns: string; join?: string }> = {
  import: { object: 'import', needs: ['sor_manage'], columns: 'j.identifier AS id, NULL AS name, NULL AS run' },
  sync: {
    object: 'sync',
    needs: ['sor_manage'],
    columns: 'o.identifier AS id, o.name, j.identifier AS run',
    join: 'JOIN syncs o ON o.entity_id = j.entity_id AND o.id = j.sync_id',
  },
  export: {
    object: 'exporter',
    needs: EXPORTER_RIGHTS,
    columns: 'o.identifier AS id, o.name, j.identifier AS run',
    join: 'JOIN data_exporters o ON o.entity_id = j.entity_id AND o.id = j.exporter_id',
  },
  file: { object: 'file', needs: ['usage_analytics_view'], columns: 'j.identifier AS id, j.kind AS name, NULL AS run' },
  send: { object: 'send', needs: ['campaign_view'], columns: 'j.identifier AS id, NULL AS name, NULL AS run' },
  campaign: {
    object: 'campaign',
    needs: ['campaign_view'],
    columns: 'o.identifier AS id, o.name, NULL AS run',
    join: 'JOIN campaigns o ON o.entity_id = j.entity_id AND o.id = j.campaign_id',
  },
  access: {
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    columns: 'j.identifier AS id, j.request_type AS name, NULL AS run',
  },
  delete: {
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    columns: 'j.identifier AS id, j.request_type AS name, NULL AS run',
  },
};

const FILE_RIGHTS: [Right, string[]][] = [
  ['sor_manage', ['customer_profiles']],
  ['campaign_view', ['campaigns', 'campaign_logs']],
  [
    'usage_analytics_view',
    [
      'events',
      'sessions',
      'devices',
      'segment_devices',
      'locations',
      'performance',
      'event_counts',
      'event_details',
      'crash_occurrences',
    ],
  ],
  ['downloads', ['download_metrics']],
];

/** A step or request failed for none of the reasons of others: the log tells more under the error's id. */
const INTERNAL = `'step ' || e.step || ', error ' || e.id`;
const REPORT =
  'Look for the id of the error in the logs of servers and workers, and report it: it is an error in Millrace.';
const INTERNAL_TODO = `${REPORT} Millrace tries the step again by itself.`;

const GIVEN_UP_TODO = `${REPORT} Millrace has given the step up: it ended its process several times.`;

const listedUntil = (kind: JobKind) => (kind === 'access' || kind === 'delete' ? '' : ' This entry goes after a week.');

const IMPORT_AGAIN =
  'import the file again with redrive_of=<import_id>, and a table with its columns as well: once that import has ' +
  'ended, the failure is no longer listed. ' +
  'Otherwise it goes after a week.';

const START_AGAIN: Record<JobKind, string> = {
  import: `Rows that were merged stay; ${IMPORT_AGAIN}`,
  sync: 'The next run tries again; you can start one now.',
  export: 'The next run exports what is missing; you can start one now.',
  file: 'Ask for the file again.',
  send: 'Messages that may have left are UNKNOWN, the others CANCELED: send these again.',
  campaign:
    'Messages that may have left are UNKNOWN, the others CANCELED. Duplicate the campaign, and launch the copy ' +
    'for those who are left.',
  access: 'The request waits until POST /api/gdpr/requests/<request_id>/approve starts it again.',
  delete: 'The request waits until POST /api/gdpr/requests/<request_id>/approve starts it again.',
};

function internalErrorOfJob(kind: JobKind, isGivenUp: boolean): AttentionSource {
  const { object, needs, columns, join = '' } = JOB_OBJECTS[kind];
  const { table, only = 'true' } = STORED_JOBS[kind];
  return {
    kind: 'internal_error',
    object,
    needs,
    toDo: isGivenUp ? `${GIVEN_UP_TODO} ${START_AGAIN[kind]}${listedUntil(kind)}` : INTERNAL_TODO,
    select: `SELECT ${columns}, e.since, ${INTERNAL} AS reason
      FROM internal_errors e JOIN ${table} j ON j.entity_id = e.entity_id AND j.identifier = e.job ${join}
      WHERE e.entity_id = $1 AND e.kind = '${kind}' AND ${only} AND ${isGivenUp ? 'e.given_up' : 'NOT e.given_up'}`,
  };
}

/** A failed import until its re-drive ends; no dry run. Line 0's error is the whole file's. Uses imports_failed. */
function failedImport(toDo: string, errors: string): AttentionSource {
  return {
    kind: 'failed',
    object: 'import',
    needs: ['sor_manage'],
    toDo,
    select: `SELECT j.identifier AS id, NULL AS name, NULL AS run, j.ended_at AS since,
        coalesce(e.message, 'the import failed') AS reason
      FROM imports j LEFT JOIN import_errors e ON e.entity_id = j.entity_id AND e.import_id = j.id AND e.line = 0
      WHERE j.entity_id = $1 AND j.state = 'failed' AND j.ended_at IS NOT NULL AND e.error_type ${errors}
        AND NOT j.dry_run
        AND NOT EXISTS (SELECT FROM imports r WHERE r.entity_id = j.entity_id AND r.parent_id = j.id AND NOT r.dry_run
          AND r.state IN ('finished', 'failed'))`,
  };
}

function internalErrorOfFlow(
  object: AttentionObject,
  needs: readonly AttentionNeed[],
  isOfEntity = true,
): AttentionSource {
  return {
    kind: 'internal_error',
    object,
    needs,
    toDo: INTERNAL_TODO,
    select: `SELECT NULL AS id, NULL AS name, NULL AS run, e.since, ${INTERNAL} AS reason FROM internal_errors e
      WHERE ${isOfEntity ? 'e.entity_id = $1' : 'e.entity_id IS NULL AND $1::integer IS NOT NULL'} AND e.kind = '${object}'`,
  };
}

/** A request is repeated by its caller: it stays listed for a day. */
function internalErrorOfRequest(needs: readonly AttentionNeed[], isOfEntity: boolean): AttentionSource {
  return {
    kind: 'internal_error',
    object: 'request',
    needs,
    toDo:
      'Look for the id of the request in the logs of the servers, and report it: it is an error in Millrace. ' +
      'The caller got status 500, and may try again.',
    select: `SELECT e.step AS id, NULL AS name, NULL AS run, e.since, e.times || ' in all, the last one with the id ' || e.id AS reason
      FROM internal_errors e
      WHERE ${isOfEntity ? 'e.entity_id = $1' : 'e.entity_id IS NULL AND $1::integer IS NOT NULL'} AND e.kind = 'request'
        AND e.last_at > now() - interval '1 day'`,
  };
}

/** A job that no worker has begun, though nothing keeps it waiting. Uses the indexes of jobs under way. */
function notBegun(kind: JobKind): AttentionSource {
  const { object, needs, columns, join = '' } = JOB_OBJECTS[kind];
  const stored = STORED_JOBS[kind];
  return {
    kind: 'stalled',
    object,
    needs,
    toDo: 'Look whether workers run and reach Temporal: GET /health/ready?parts=all says what is missing.',
    select: `SELECT ${columns}, j.received_at AS since, 'accepted, and no worker has begun it' AS reason FROM ${stored.table} j ${join}
      WHERE j.entity_id = $1 AND j.state = 'accepted' AND j.received_at < now() - interval '10 minutes'
        AND ${stored.only ?? 'true'} AND ${isFree(stored)} AND ${stored.mayStart ?? 'true'}`,
  };
}

/** How long work may wait for an outside system without progress. */
const WAITS_LONG = `interval '1 hour'`;

type AttentiveRuns = {
  owners: 'syncs' | 'data_exporters';
  /** A condition on runs `j` that try something. */
  counts: string;
  toDo: { stalled: string; paused: string; failed: string };
};

const RUNS: Record<'sync' | 'export', AttentiveRuns> = {
  sync: {
    owners: 'syncs',
    counts: 'NOT j.dry_run',
    toDo: {
      stalled: 'Check the source and the destination of the sync: POST /api/connections/<connection_id>/check.',
      paused: 'Mend what the reason names, then resume the sync.',
      failed: 'Mend what the reason names. The next run tries again; you can start one now.',
    },
  },
  export: {
    owners: 'data_exporters',
    counts: 'NOT j.is_covered',
    toDo: {
      stalled: 'Check the bucket: POST /api/data_exporters/<exporter_id>/check.',
      paused: 'Mend what the reason names, then activate the exporter again.',
      failed: 'Mend what the reason names. The next run exports what is missing; you can start one now.',
    },
  },
};

/**
 * A run that waits for an outside system, a paused owner, and an owner's failed run: its last run, whatever started it,
 * or the last failed one while failures of scheduled runs count. Uses the index of an owner's runs.
 */
function troubleOfRuns(kind: 'sync' | 'export'): AttentionSource[] {
  const { object, needs, columns, join = '' } = JOB_OBJECTS[kind];
  const { table, owner } = STORED_JOBS[kind];
  const { owners, counts, toDo } = RUNS[kind];
  return [
    {
      kind: 'stalled',
      object,
      needs,
      toDo: toDo.stalled,
      select: `SELECT ${columns}, j.failing_since AS since, coalesce(j.fault, 'no progress') AS reason FROM ${table} j ${join}
        WHERE j.entity_id = $1 AND j.state = 'running' AND j.failing_since < now() - ${WAITS_LONG}`,
    },
    {
      kind: 'paused',
      object,
      needs,
      toDo: toDo.paused,
      select: `SELECT o.identifier AS id, o.name, NULL AS run, o.paused_at AS since, o.paused_reason AS reason FROM ${owners} o
        WHERE o.entity_id = $1 AND o.paused_at IS NOT NULL AND o.deleted_at IS NULL`,
    },
    {
      kind: 'failed',
      object,
      needs,
      toDo: toDo.failed,
      select: `SELECT ${columns}, coalesce(j.ended_at, o.updated_at) AS since, coalesce(j.failure, 'the last run failed') AS reason
        FROM ${owners} o JOIN LATERAL (
          SELECT * FROM ${table} j WHERE j.entity_id = o.entity_id AND j.${owner} = o.id AND ${counts}
            AND (j.state = 'failed' OR j.state = 'finished' AND o.failures = 0)
          ORDER BY j.id DESC LIMIT 1) j ON j.state = 'failed'
        WHERE o.entity_id = $1 AND o.paused_at IS NULL AND o.deleted_at IS NULL`,
    },
  ];
}

/** SQL for the UTC day a week ago. */
const WEEK_AGO = `(now() AT TIME ZONE 'UTC')::date - 7`;

const LOCATION_FAULTS = `(SELECT string_agg(f.value ->> 'reason', ', ' ORDER BY f.key) FROM jsonb_each(j.location_faults) f)`;

export const ATTENTION: readonly AttentionSource[] = [
  ...JOB_KINDS.flatMap((kind) => [internalErrorOfJob(kind, false), internalErrorOfJob(kind, true)]),
  internalErrorOfFlow('feed', ['sor_manage']),
  internalErrorOfFlow('segments', ['segments_view']),
  internalErrorOfFlow('reports', ['campaign_view']),
  internalErrorOfFlow('upkeep', ['superadmin'], false),
  internalErrorOfRequest(['admin'], true),
  internalErrorOfRequest(['superadmin'], false),

  ...JOB_KINDS.map(notBegun),
  ...troubleOfRuns('sync'),
  ...troubleOfRuns('export'),
  {
    kind: 'stalled',
    object: 'import',
    needs: ['sor_manage'],
    toDo: 'Check the address of the file, or cancel the import and start it again.',
    select: `SELECT j.identifier AS id, NULL AS name, NULL AS run, j.fetch_failing_since AS since,
        coalesce(j.fetch_fault, 'no progress') AS reason
      FROM imports j WHERE j.entity_id = $1 AND j.state = 'running' AND j.fetch_failing_since < now() - ${WAITS_LONG}`,
  },
  failedImport(`Correct the file and ${IMPORT_AGAIN}`, `IS DISTINCT FROM '${INTERNAL_FAILURE}'`),
  failedImport(`Report the error in Millrace. ${START_AGAIN.import}`, `= '${INTERNAL_FAILURE}'`),
  ...FILE_RIGHTS.map(([right, kinds]): AttentionSource => ({
    // By file_jobs_failed and file_jobs_by_request. A file that an erasure ended is no failure.
    kind: 'failed',
    object: 'file',
    needs: [right],
    toDo:
      'Ask for the same file again: once that has ended, this entry is no longer listed. Otherwise it goes after a week. ' +
      'Logs of campaigns need another from or till.',
    select: `SELECT j.identifier AS id, j.kind AS name, NULL AS run, j.ended_at AS since, coalesce(j.failure, 'the file failed') AS reason
      FROM file_jobs j WHERE j.entity_id = $1 AND j.state = 'failed' AND j.ended_at IS NOT NULL AND j.kind IN ('${kinds.join("', '")}')
        AND j.failure_status IS DISTINCT FROM 'erased'
        AND NOT EXISTS (SELECT FROM file_jobs n WHERE n.entity_id = j.entity_id AND n.asked_hash = j.asked_hash AND n.id > j.id
          AND n.state IN ('finished', 'failed') AND n.failure_status IS DISTINCT FROM 'erased')`,
  })),
  {
    kind: 'failed',
    object: 'segment',
    needs: ['segments_view'],
    toDo: 'Change the filters of the segment, or refresh it again.',
    select: `SELECT o.identifier AS id, o.name, NULL AS run, coalesce(o.snapshot_at, o.updated_at) AS since, o.failure AS reason
      FROM segments o WHERE o.entity_id = $1 AND o.failure IS NOT NULL`,
  },
  {
    // By campaigns_failed.
    kind: 'failed',
    object: 'campaign',
    needs: ['campaign_view'],
    toDo: 'Duplicate the campaign, mend what the reason names, and launch the copy. This entry goes 30 days after the failure.',
    select: `SELECT o.identifier AS id, o.name, NULL AS run, coalesce(o.ended_at, o.updated_at) AS since,
        coalesce(o.failure, 'the campaign failed') AS reason
      FROM campaigns o
      WHERE o.entity_id = $1 AND o.status = 'failed' AND (o.ended_at IS NULL OR o.ended_at > now() - interval '30 days')`,
  },

  {
    kind: 'failed',
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    toDo:
      'Report the error in Millrace, and restart the workers with a version that mends it. ' +
      'POST /api/gdpr/requests/<request_id>/approve starts the request again.',
    select: `SELECT j.identifier AS id, j.request_type AS name, NULL AS run, j.given_up_at AS since, coalesce(j.fault, 'given up') AS reason
      FROM gdpr_requests j WHERE j.entity_id = $1 AND j.given_up_at IS NOT NULL`,
  },
  {
    // It may be any entity's.
    kind: 'failed',
    object: 'mail',
    needs: ['superadmin'],
    toDo: 'Look at the file in the file store. Deletions search it as text only: delete it there if it may name an erased person.',
    select: `SELECT m.file AS id, NULL AS name, NULL AS run, m.found_at AS since, 'a file of the outbox is no mail' AS reason
      FROM unreadable_mails m WHERE $1::integer IS NOT NULL`,
  },
  {
    kind: 'waiting_for_approval',
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    toDo: 'Approve or decline the request.',
    select: `SELECT j.identifier AS id, j.request_type AS name, NULL AS run, j.received_at AS since, 'a device asked for it' AS reason
      FROM gdpr_requests j WHERE j.entity_id = $1 AND j.state = 'waiting'`,
  },
  {
    kind: 'waiting_for_approval',
    object: 'sync',
    needs: ['sor_manage'],
    toDo: 'Look at the source; if the removals are right, start a run that confirms them.',
    select: `SELECT o.identifier AS id, o.name, j.identifier AS run, j.ended_at AS since,
        coalesce(j.removal_reason, 'removals wait') AS reason
      FROM syncs o JOIN LATERAL (SELECT * FROM sync_runs j WHERE j.entity_id = o.entity_id AND j.sync_id = o.id AND j.ended_at IS NOT NULL
        AND NOT j.dry_run AND j.root_id IS NULL ORDER BY j.id DESC LIMIT 1) j ON true
      WHERE o.entity_id = $1 AND o.deleted_at IS NULL AND j.removal = 'held'`,
  },
  {
    kind: 'overdue',
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    toDo: 'Look at what the reason names; GET /api/gdpr/requests/<request_id> shows how far the request is.',
    select: `SELECT j.identifier AS id, j.request_type AS name, NULL AS run, j.received_at AS since,
        CASE WHEN j.stage = 'on hold' THEN 'a person is on hold'
          ELSE coalesce(j.fault, ${LOCATION_FAULTS}, 'at: ' || j.stage, 'not begun') END AS reason
      FROM gdpr_requests j WHERE j.entity_id = $1 AND j.state IN ('accepted', 'running') AND j.received_at < now() - ${WAITS_LONG}`,
  },
  {
    kind: 'stalled',
    object: 'privacy_request',
    needs: ['gdpr_data_manage'],
    toDo:
      'See that what the reason names can be reached: the file store, the database, or the bucket of an exporter. ' +
      'GET /api/gdpr/requests/<request_id> says more. The request goes on by itself.',
    select: `SELECT j.identifier AS id, j.request_type AS name, NULL AS run,
        coalesce(j.fault_since, (SELECT min((f.value ->> 'since')::timestamptz) FROM jsonb_each(j.location_faults) f)) AS since,
        coalesce(j.fault, ${LOCATION_FAULTS}) AS reason
      FROM gdpr_requests j WHERE j.entity_id = $1 AND j.state = 'running' AND (j.fault_since IS NOT NULL OR j.location_faults <> '{}')`,
  },

  {
    // Exporters run before six in the morning: what a day later still lacks that day is missing.
    kind: 'missing_windows',
    object: 'exporter',
    needs: EXPORTER_RIGHTS,
    toDo: 'GET /api/data_exporters/<exporter_id>/reconciliation shows what is missing; start a run to export it.',
    select: `SELECT o.identifier AS id, o.name, NULL AS run, o.due AS since,
        'nothing is exported from ' || coalesce(to_char(o.start, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'the beginning') || ' on' AS reason
      FROM (SELECT x.*, coalesce(x.exported_until, x.exports_since) AS start,
          date_trunc('day', (now() - interval '7 hours') AT TIME ZONE e.default_tz) AT TIME ZONE e.default_tz AS due
        FROM data_exporters x JOIN entities e ON e.id = x.entity_id
        WHERE x.entity_id = $1 AND x.active AND x.paused_at IS NULL AND x.deleted_at IS NULL) o
      WHERE o.updated_at < o.due AND (o.start IS NULL OR o.start < o.due)`,
  },

  {
    // A re-drive by an error file is not listed itself: its rows count in the first import.
    kind: 'open_rows',
    object: 'import',
    needs: ['sor_manage'],
    toDo:
      'Download the error file (millrace errors <import_id> --csv), correct it, and import it as a re-drive (millrace redrive). ' +
      'Of a file whose rest was not read, import the whole file again.',
    select: `SELECT o.id, NULL AS name, NULL AS run, o.since, o.rows || ' rows are open' || CASE WHEN o.is_cut
          THEN '; a quote is not closed, and the rest of the file behind it was not read' ELSE '' END AS reason FROM (
        SELECT j.identifier AS id, j.ended_at AS since, coalesce((SELECT l.message = '${UNCLOSED_QUOTE}' FROM import_errors l
            WHERE l.entity_id = j.entity_id AND l.import_id = j.id ORDER BY l.line DESC LIMIT 1), false) AS is_cut,
          (SELECT sum(l.rows_ignored + l.rows_failed - l.cells_empty) FROM import_lanes l
            WHERE l.entity_id = j.entity_id AND l.import_id = j.id) - ${settledRows('j.entity_id', 'j.id')} AS rows
        FROM imports j
        WHERE j.entity_id = $1 AND j.state = 'finished' AND NOT j.dry_run AND (j.parent_id IS NULL OR NOT j.has_error_columns)
          AND j.ended_at IS NOT NULL) o
      WHERE o.rows > 0`,
  },
  {
    // By sync_runs_of_sync.
    kind: 'open_rows',
    object: 'sync',
    needs: ['sor_manage'],
    toDo: 'Mend the records in the source or the mapping, then re-drive the run.',
    select: `SELECT o.identifier AS id, o.name, j.run, j.since, j.rows ||
        CASE j.rows WHEN 1 THEN ' record is open' ELSE ' records are open' END AS reason
      FROM syncs o JOIN LATERAL (
        SELECT r.identifier AS run, r.ended_at AS since,
          r.records_ignored - r.deletions_ignored + r.records_failed - ${settledRows('r.entity_id', 'r.id')} AS rows
        FROM sync_runs r WHERE r.entity_id = o.entity_id AND r.sync_id = o.id AND r.state = 'finished'
          AND NOT r.dry_run AND r.root_id IS NULL ORDER BY r.id DESC LIMIT 1) j ON j.rows > 0
      WHERE o.entity_id = $1 AND o.deleted_at IS NULL`,
  },

  {
    kind: 'provider_refuses',
    object: 'app',
    needs: ['push_certificates_manage'],
    toDo: 'POST /api/apps/<app_identifier>/push_check says what is wrong with the settings of the provider.',
    select: `SELECT a.identifier AS id, a.name, NULL AS run, p.since, p.provider || ' refuses pushes: ' || p.code AS reason
      FROM provider_refusals p JOIN apps a ON a.entity_id = p.entity_id AND a.id = p.app_id WHERE p.entity_id = $1`,
  },
  {
    // By push_outcome_days_by_app, then the key of campaign_days. A push that its device confirmed is not unknown.
    kind: 'unknown_outcome',
    object: 'campaign',
    needs: ['campaign_view'],
    toDo:
      'GET /api/campaigns/<campaign_id>/results counts them. Such a push may have arrived, and Millrace does not send it again. ' +
      'This entry goes a week after the last one.',
    select: `SELECT c.identifier AS id, c.name, NULL AS run, n.since,
        n.pushes || CASE n.pushes WHEN 1 THEN ' push has' ELSE ' pushes have' END ||
          ' an unknown outcome: the connection or the worker ended before the provider answered' AS reason
      FROM (SELECT DISTINCT d.campaign_id FROM apps a JOIN push_outcome_days d ON d.entity_id = a.entity_id AND d.app_id = a.id
        AND d.day > ${WEEK_AGO} AND d.outcome = 'unknown' WHERE a.entity_id = $1) u
      JOIN campaigns c ON c.entity_id = $1 AND c.id = u.campaign_id
      JOIN LATERAL (SELECT min(d.day)::timestamp AT TIME ZONE 'UTC' AS since, sum(d.attempts - d.delivered)::bigint AS pushes
        FROM campaign_days d WHERE d.entity_id = $1 AND d.campaign_id = c.id AND d.day > ${WEEK_AGO} AND d.code = 'UNKNOWN'
          AND d.attempts > d.delivered) n ON n.pushes > 0`,
  },
];
