import type { Batch, Cursor } from '../../connectors/core/contract.ts';
import type { SourceRecord } from '../../domain/syncs/record-mapping.ts';
import { listErrorsAfter, type StoredImportError } from '../../store/imports/import-errors.ts';
import type { Dependencies } from '../dependencies.ts';
import type { SyncItem } from './items.ts';

/** Where a re-drive is: the line of the last error that it took. */
type RedriveCursor = { line: number };

/** Yields the records of a run's errors that came no more since, as a source: those that are stored whole. */
export async function* readErrors(
  { db }: Pick<Dependencies, 'db'>,
  entityId: number,
  rootId: number,
  cursor: Cursor | null,
): AsyncGenerator<Omit<Batch, 'items'> & { items: SyncItem[] }> {
  let after = (cursor as RedriveCursor | null)?.line ?? 0;
  for (;;) {
    const page = await listErrorsAfter(db, entityId, rootId, { isOpen: true }, after);
    if (page.length === 0) return;
    after = page.at(-1)!.line;
    const items = page.flatMap((error) => toItem(error) ?? []);
    yield {
      items,
      bytes: page.reduce((sum, { raw }) => sum + Buffer.byteLength(raw ?? ''), 0),
      cursor: { line: after },
    };
  }
}

/** Null where no record can be made of what was kept: it was malformed, too long, or is an erased person's. */
function toItem({ errorType, stage, raw, line }: StoredImportError): SyncItem | null {
  if (stage === 'parsing' || raw === null) return null;
  try {
    return {
      kind: 'record',
      record: JSON.parse(raw) as SourceRecord,
      rootLine: line,
      wasNamed: errorType !== 'INVALID_CUSTOMER_ID',
    };
  } catch {
    return null;
  }
}
