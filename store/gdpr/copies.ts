/** Copies of erased people's data outside Millrace, as a receipt lists them: by exporters and by syncs. */
import type { ReceiptCopy } from '../../domain/gdpr/gdpr-receipt.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { syncRecords } from '../syncs/personal-data.ts';
import type { DeletionRound } from './export-deletions.ts';
import type { KnownBy, LocationDependencies } from './personal-data-location.ts';

/** Returns the syncs with records of these people, before these are erased. Reads in pages, once for all people. */
export async function findSyncCopies(
  deps: LocationDependencies,
  entityId: number,
  people: KnownBy[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { sync, within } of syncRecords.export(deps, entityId, people))
    found.add((sync ?? within) as string);
  return found;
}

/** Stores which of some syncs write to other systems, deleted ones included, for the receipt of a round. */
export async function noteSyncCopies(
  tx: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
  syncs: Iterable<string>,
): Promise<void> {
  await tx.query(
    `WITH found AS (
       SELECT identifier FROM syncs WHERE entity_id = $1 AND destination_id IS NOT NULL AND identifier = ANY ($4))
     UPDATE gdpr_requests SET sync_copies = sync_copies || jsonb_build_object($3::text, (
       SELECT jsonb_agg(DISTINCT id) FROM (
         SELECT jsonb_array_elements_text(sync_copies -> $3::text) UNION SELECT identifier FROM found) AS noted (id)))
     WHERE entity_id = $1 AND identifier = $2 AND EXISTS (SELECT FROM found)`,
    [entityId, requestIdentifier, String(round), [...syncs]],
  );
}

/** Lists the copies of a round's people outside Millrace, as its receipt has them. */
export async function listCopies(db: Queryable, round: DeletionRound): Promise<ReceiptCopy[]> {
  return [
    ...(await listExported(db, round)),
    ...(await listFormerBuckets(db, round)),
    ...(await listSynced(db, round)),
  ];
}

type ExportedRow = Row<'export_deletions', 'state' | 'key' | 'notifiedAt' | 'fault'> & { exporter: string };

async function listExported(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<ReceiptCopy[]> {
  const rows = readRows<ExportedRow>(
    await db.query(
      `SELECT x.identifier AS exporter, d.state, d.key, d.notified_at, d.fault
     FROM export_deletions d JOIN data_exporters x ON x.entity_id = d.entity_id AND x.id = d.exporter_id
     WHERE d.entity_id = $1 AND d.request_identifier = $2 AND d.round = $3 ORDER BY d.id`,
      [entityId, requestIdentifier, round],
    ),
  );
  return rows.map(({ exporter, state, key, notifiedAt: at, fault }) => ({
    kind: 'exporter',
    id: exporter,
    state: state === 'notified' ? state : 'not_notified',
    list: key,
    at: at && at.toISOString(),
    reason: state === 'pending' && fault === null ? 'The list was not put into the bucket yet' : fault,
  }));
}

/** Lists former buckets of exporters: their owners must delete the people there. */
async function listFormerBuckets(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<ReceiptCopy[]> {
  const { rows } = await db.query<{ exporter: string; bucket: string }>(
    `SELECT DISTINCT x.identifier AS exporter, r.definition ->> 'bucketName' AS bucket
     FROM export_deletions d
     JOIN data_exporters x ON x.entity_id = d.entity_id AND x.id = d.exporter_id
     JOIN export_runs r ON r.entity_id = x.entity_id AND r.exporter_id = x.id AND r.attempt > 0
     WHERE d.entity_id = $1 AND d.request_identifier = $2 AND d.round = $3
       AND (r.definition ->> 'bucketName', r.definition ->> 'endpoint') IS DISTINCT FROM (x.bucket_name, x.endpoint)
     ORDER BY exporter, bucket`,
    [entityId, requestIdentifier, round],
  );
  return rows.map(({ exporter, bucket }) => ({
    kind: 'exporter',
    id: exporter,
    state: 'not_notified',
    list: null,
    at: null,
    reason: `Earlier runs wrote to the bucket ${bucket}, which is no longer the exporter's`,
  }));
}

type SyncedRow = { sync: string; stream: string; connection: string | null; isKnown: boolean };

async function listSynced(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<ReceiptCopy[]> {
  const synced = readRows<SyncedRow>(
    await db.query(
      `SELECT s.identifier AS sync, s.destination_stream AS stream, c.identifier AS connection, noted.id IS NOT NULL AS is_known
     FROM gdpr_requests q JOIN syncs s ON s.entity_id = q.entity_id
     LEFT JOIN LATERAL jsonb_array_elements_text(q.sync_copies -> $3::text) AS noted (id) ON noted.id = s.identifier
     LEFT JOIN connections c ON c.entity_id = s.entity_id AND c.id = s.destination_id
     WHERE q.entity_id = $1 AND q.identifier = $2 AND (noted.id IS NOT NULL OR s.has_copies) ORDER BY s.id`,
      [entityId, requestIdentifier, String(round)],
    ),
  );
  return synced.map(({ sync, stream, connection, isKnown }) => {
    const target = `${stream}${connection === null ? '' : ` of ${connection}`}`;
    return {
      kind: 'sync',
      id: sync,
      state: 'elsewhere',
      list: null,
      at: null,
      reason: isKnown
        ? `The sync sent records of these people to ${target}: delete them there`
        : `The sync was deleted, and what it knew of its records with it: look for these people in ${target}`,
    };
  });
}
