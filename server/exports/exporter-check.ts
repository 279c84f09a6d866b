/** Tries an exporter's definition in its bucket, within the time of a request. */
import { openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { probeBucket } from '../../connectors/s3/probe-bucket.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import type { ExporterSecrets, NewExporter } from '../../store/exports/data-exporter-record.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import type { Limits, RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import type { Circumstances } from '../http/route.ts';

export type Definition = NewExporter & { secrets: ExporterSecrets };

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller };

/**
 * Tries a run's writes, reads and deletes. Refuses in the provider's words. `subject`: the exporter's identifier, null
 * for a new one. Call it outside transactions: it may take as long as the provider does.
 */
export async function checkBucket(
  { log, ...who }: Who,
  { db, connectorCalls, limits }: RouteDependencies,
  subject: string | null,
  definition: Definition,
): Promise<void> {
  const { entityId } = who.caller;
  const access = exporterAccess(definition, definition.secrets, await findExternalId(db, entityId));
  const call = { entityId, withinMs: limits.checkMs, log, secretSettings: definition.secrets };
  const outcome = await connectorCalls.run(call, async (context) => {
    const bucket = openExportBucket(access, context, patienceFor(limits));
    try {
      await probeBucket(bucket, definition.subfolder);
    } finally {
      bucket.close();
    }
  });
  // A refusal shows its status alone: messages name hosts.
  const details = { ok: outcome.ok, ...(outcome.ok ? {} : { status: outcome.refusal.status }) };
  await write(db, (tx) => audit(tx, who, { action: 'check', subjectKind: 'data_exporter', subject, details }));
  if (!outcome.ok) throw outcome.refusal;
}

/** Returns short timeouts, since a caller waits: the bucket's own error must come first. */
function patienceFor({ checkMs }: Limits) {
  const ms = checkMs / 4;
  return { connectMs: ms, idleMs: ms, answerMs: ms, retryMs: checkMs / 15 };
}
