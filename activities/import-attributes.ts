import { heartbeating } from './heartbeat.ts';
import { loadLanes, type Outcome } from './import-lanes.ts';
import { failImport, finishImport } from './import-merge.ts';
import { pinnedHeader } from './import-rules.ts';
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

  /** Merges what is left of the file, batch by batch; each lane's part commits with its counts, its errors and its cursor. */
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

async function loadFromCursor(needs: Needs, job: Import): Promise<Outcome> {
  const header = await pinnedHeader(needs.files, job);
  if (header.ok) return loadLanes(needs, job, header);
  await failImport(needs, job, header);
  return 'done';
}
