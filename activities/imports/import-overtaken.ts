import { Context } from '@temporalio/activity';
import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import type { Piece } from '../../domain/core/csv-pieces.ts';
import { createNameFinder } from '../../domain/core/name-finder.ts';
import { checkPieces, type OriginalPlace } from '../../domain/imports/import-batch.ts';
import { TimeSlice } from '../../store/core/yield-to-event-loop.ts';
import { listErrorsRedriven } from '../../store/imports/import-errors.ts';
import type { ReadableImport } from '../../store/imports/import-record.ts';
import { findImportById } from '../../store/imports/imports.ts';
import type { Dependencies } from '../dependencies.ts';
import { readBatches } from './import-batches.ts';
import { type ImportRules, pinnedHeader } from './import-rules.ts';

/** A row of an error file: its line there, the place in the first file that it corrects, and whether it replaces the whole value. */
type Correction = { line: number; original: OriginalPlace; isWhole: boolean };

/** Number of records of the first file that are looked at before the step may end. */
const RECORDS_AT_ONCE = 10_000;

/**
 * Returns the lines of these pieces of an error file whose rows come too late: a line further down in the first file has changed the same
 * attribute of the same customer. The first file is searched once for each batch; one that is gone overtakes nothing.
 */
export async function overtakenLines(
  deps: Dependencies, job: ReadableImport, pieces: readonly Piece[], rules: ImportRules,
): Promise<ReadonlySet<number>> {
  const overtaken = new Set<number>();
  const corrections = rules.hasErrorColumns && job.rootId !== null ? correctionsIn(pieces, rules) : new Map<string, Correction[]>();
  if (corrections.size === 0) return overtaken;
  const overtake = (key: string, line: number, isWhole: boolean) => {
    for (const correction of corrections.get(key) ?? []) {
      if (line > correction.original.line && (isWhole || correction.isWhole)) overtaken.add(correction.line);
    }
  };
  const customers = [...new Set([...corrections.keys()].map((key) => key.slice(key.indexOf('/') + 1)))];
  for (const { line, customerId, attributeKey } of await listErrorsRedriven(deps.db, job.entityId, job.rootId!, customers, job.id)) {
    const attribute = rules.attributes.get(attributeKey);
    // How an earlier re-drive has changed a Set is not known here.
    if (attribute !== undefined && attribute.valueType !== 'Set') overtake(keyOf(customerId, attribute.id), line, true);
  }
  for await (const change of changesOf(deps, job, customers, rules)) {
    overtake(keyOf(change.customerId, change.attributeId), change.line, isWhole(change));
  }
  return overtaken;
}

function correctionsIn(pieces: readonly Piece[], rules: ImportRules): Map<string, Correction[]> {
  const [checked] = checkPieces(pieces, rules, [0]);
  const corrections = new Map<string, Correction[]>();
  for (const change of checked!.changes) {
    const original = checked!.corrects.get(change.line);
    if (original === undefined) continue;
    const key = keyOf(change.customerId, change.attributeId);
    corrections.set(key, [...corrections.get(key) ?? [], { line: change.line, original, isWhole: isWhole(change) }]);
  }
  return corrections;
}

function keyOf(customerId: string, attributeId: number): string {
  return `${attributeId}/${customerId}`;
}

/** Elements that are added or taken away leave the others. */
function isWhole(change: AttributeChange): boolean {
  return change.kind === 'value' || change.action === 'UPSERT' || change.action === 'DEL';
}

/** The changes of the first file that are of these customers, and maybe of others. */
async function* changesOf(
  { db, files, draining }: Dependencies, { entityId, rootId }: ReadableImport, customers: readonly string[],
  { attributes, sorDisabled, sorDeleted }: ImportRules,
): AsyncGenerator<AttributeChange> {
  const root = await findImportById(db, entityId, rootId!);
  if (!root?.file || root.fileFormat === null || await files.size(root.file.fileKey) !== root.file.fileBytes) return;
  const { file: { fileKey }, fileFormat } = root;
  const header = await pinnedHeader(files, { ...root, file: root.file, fileFormat });
  if (!header.ok) return;
  const { format, offset, line } = header;
  // In a file nothing but the quotes of an id is written in other ways than the id.
  const find = createNameFinder(customers.map((id) => id.split('"').filter((part) => part !== '')
    .map((part) => Buffer.from(part).toString('latin1'))));
  const slice = new TimeSlice();
  for await (const { pieces } of readBatches(() => files.read(fileKey, offset), fileFormat, offset, line, RECORDS_AT_ONCE)) {
    draining.throwIfAborted();
    Context.current().cancellationSignal.throwIfAborted();
    for (const piece of pieces) {
      if (slice.isOver) await slice.next();
      if (piece.kind !== 'run' || find(piece.bytes.toString('latin1')).size === 0) continue;
      yield* checkPieces([piece], { ...format, attributes, sorDisabled, sorDeleted }, [0])[0]!.changes;
    }
  }
}
