import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { keepKeyHash } from '../../store/exports/export-run-progress.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, writeHeld } from './attempt.ts';

/**
 * One key encrypts all files of a run: readers have one, and no manifest tells which file has which. Refuses with `source_refused`
 * where the exporter has been given another one since the run's first attempt.
 */
export async function refuseAnotherKey(deps: Dependencies, { key, run, secrets }: Pick<Attempt, 'key' | 'run' | 'secrets'>): Promise<void> {
  if (secrets.encryptionKey === null) return;
  const hash = deps.secrets.lookup(`export_runs/${run.exporterId}/${secrets.encryptionKey}`).toString('hex');
  const isSame = await writeHeld(deps, key, (tx) => keepKeyHash(tx, key, hash));
  if (!isSame) throw sourceRefusal('source_refused', 'The encryption_key was changed while the run was under way: run it again');
}
