import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { faultOf } from '../../domain/fault.ts';
import { refuseField } from '../../domain/refusal.ts';
import type { ImportRef } from '../../store/across-entities.ts';
import { insertAuditEntry } from '../../store/audit-log.ts';
import { write } from '../../store/database.ts';
import { type Import, insertImport } from '../../store/imports.ts';
import { bodyFlag, identifier, text } from '../input.ts';
import type { RouteNeeds } from '../needs.ts';
import { findSorOfKey, importUpload } from '../receive-import.ts';
import { type Circumstances, type Route, route } from '../route.ts';

/** The reply waits so long for the workflow's start; the sweep starts what was accepted and never began. */
const START_WITHIN_MS = 2_000;
const URL_CHARS = 2_048;

const batchImport = route({
  method: 'POST',
  path: '/api/attribute_values/batch_import',
  summary: 'Import attribute values from a CSV file',
  description: 'The file is a web-form part named `file`, gzipped or not. Fields may come before or after it; '
    + 'before it, wrong credentials are refused at once.',
  tag: 'Imports',
  auth: 'sor_key',
  body: z.object({
    sor_id: identifier,
    api_key: text(),
    skip_email: bodyFlag.default(false),
    file_url: text({ max: URL_CHARS }).optional().describe('Not taken by this version: send the file'),
  }),
  upload: importUpload,
  result: z.object({ jid: z.string(), import_id: z.string() }),
  async handle({ body, file, version, ...circumstances }, needs) {
    const sor = await findSorOfKey(needs, body.sor_id, body.api_key);
    if (!file) return refuseMissingFile(body.file_url);
    file.release();
    const job = await write(needs.db, async (tx) => {
      const accepted = await insertImport(tx, sor.entityId, {
        ...file.pinned, sorId: sor.id, version, skipEmail: body.skip_email,
      });
      await insertAuditEntry(tx, sor.entityId, {
        actorKind: 'sor_key', actorId: sor.id, address: circumstances.address, action: 'import', subjectKind: 'import',
        subject: accepted.identifier, details: { sor: sor.identifier, bytes: accepted.fileBytes },
      });
      return accepted;
    });
    await startSoon(job, needs, circumstances);
    return { jid: job.jid, import_id: job.identifier };
  },
});

function refuseMissingFile(fileUrl: string | undefined): never {
  if (fileUrl === undefined) return refuseField('file', 'is required: send the file as the web-form part `file`');
  return refuseField('file_url', 'this version takes uploads only; send the file as the web-form part `file`');
}

/** A start that fails, or takes long, never fails the request: the import is accepted already. */
async function startSoon(job: Import, { flows }: RouteNeeds, { log }: Pick<Circumstances, 'log'>): Promise<void> {
  const ref: ImportRef = { entityId: job.entityId, importId: job.id, identifier: job.identifier };
  const waiting = new AbortController();
  const started = flows.startImport(ref)
    .catch((error: unknown) => {
      log.warn({ import: ref.identifier, fault: faultOf(error) }, 'an import could not be started yet');
    })
    .finally(() => waiting.abort());
  await Promise.race([started, delay(START_WITHIN_MS, undefined, { signal: waiting.signal }).catch(() => {})]);
}

export const batchImportRoutes: Route[] = [batchImport];
