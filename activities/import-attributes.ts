import { Context } from '@temporalio/activity';
import { heartbeating } from './heartbeat.ts';
import { readAhead, readBatches } from './import-batches.ts';
import { checkBatches, failImport, finishImport, mergeBatch } from './import-merge.ts';
import { importRules, pinnedHeader } from './import-rules.ts';
import type { Needs } from './needs.ts';
import type { ImportRef } from '../store/across-entities.ts';
import { claimImport, findImport, type Import } from '../store/imports.ts';

export type { ImportRef };

/** An import as one workflow run holds it: a step of an older generation ends without effect. */
export type ImportClaim = ImportRef & { generation: number };

export type ImportAttributesSteps = ReturnType<typeof importAttributesSteps>;

export const importAttributesSteps = (needs: Needs) => ({
  /** Makes the row this run's; null when it is another's, or over. */
  async claimImport(ref: ImportRef, runId: string): Promise<ImportClaim | null> {
    const generation = await claimImport(needs.db, ref.entityId, ref.importId, runId);
    needs.boundary('import: claimed');
    return generation === null ? null : { ...ref, generation };
  },

  /** Merges what is left of the file, batch by batch; each commits with its counts, its errors and the cursor. */
  loadRows: (claim: ImportClaim): Promise<void> => heartbeating(async () => {
    for (let outcome: Outcome = 'moved'; outcome === 'moved';) {
      const job = await findClaimed(needs, claim);
      outcome = job ? await loadFromCursor(needs, job) : 'done';
    }
  }),

  /** The file is through. */
  async endImport(claim: ImportClaim): Promise<void> {
    const job = await findClaimed(needs, claim);
    if (job) await finishImport(needs, job);
  },
});

/** Null when another generation has taken over, or the import has ended. */
async function findClaimed({ db }: Needs, { entityId, identifier, generation }: ImportClaim): Promise<Import | null> {
  const job = await findImport(db, entityId, identifier);
  return job?.state === 'running' && job.generation === generation ? job : null;
}

/** `moved`: another attempt at this step has committed meanwhile, and the cursor is to be read again. */
type Outcome = 'done' | 'moved';

async function loadFromCursor(needs: Needs, job: Import): Promise<Outcome> {
  const header = await pinnedHeader(needs.files, job);
  if (!header.ok) {
    await failImport(needs, job, header);
    return 'done';
  }
  const start = job.nextOffset > 0 ? { offset: job.nextOffset, line: job.nextLine } : header;
  const bytes = needs.files.read(job.fileKey, start.offset);
  let rules = await importRules(needs.db, job, header.format);
  let cursor = job.nextOffset;
  try {
    const batches = readBatches(bytes, start.offset, start.line, needs.batchRecords);
    for await (const { item: batch, begin } of readAhead(checkBatches(batches, job, () => rules))) {
      const merged = await mergeBatch(needs, job, batch, cursor, begin);
      if (!merged) return 'moved';
      rules = merged;
      cursor = batch.nextOffset;
      leaveWhenAsked(needs.draining);
    }
  } finally {
    bytes.destroy();
  }
  return 'done';
}

/** Between commits: a worker that drains, or one that Temporal has given up, leaves the rest to another. */
function leaveWhenAsked(draining: AbortSignal): void {
  draining.throwIfAborted();
  Context.current().cancellationSignal.throwIfAborted();
}
