import { Refusal } from '../../domain/core/refusal.ts';
import { refuseBeyond } from '../../domain/imports/kept-files.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { lockKeptFiles } from '../../store/imports/kept-files.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Notes a stored file of an import with `note`, which returns false if the file is not wanted any more. Refuses if
 * other files have used up the limit for its `more` bytes meanwhile, and then deletes the stored file.
 */
export async function noteKeptFile(
  { db, files, keptLimits }: Pick<Dependencies, 'db' | 'files' | 'keptLimits'>,
  { entityId, sorId }: { entityId: number; sorId: number },
  { fileKey, more }: { fileKey: string; more: number },
  note: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await write(db, async (tx) => {
      const kept = await lockKeptFiles(tx, entityId, sorId);
      const isTaken = await note(tx);
      if (isTaken && more > 0) refuseBeyond(kept, keptLimits, more, new Date());
      return isTaken;
    });
  } catch (error) {
    // After any other error the transaction may have committed.
    if (error instanceof Refusal) await files.delete(fileKey);
    throw error;
  }
}
