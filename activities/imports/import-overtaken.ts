/** Finds rows of a re-drive that come too late: a later line of the first file changed the same value. */

import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import type { Piece } from '../../domain/csv/csv-pieces.ts';
import { checkPieces } from '../../domain/imports/import-batch.ts';
import { TimeSlice } from '../../store/core/yield-to-event-loop.ts';
import { listErrorsOf } from '../../store/imports/import-errors.ts';
import { findImportById, type ReadableImport } from '../../store/imports/imports.ts';
import { stopIfAsked } from '../core/heartbeat.ts';
import type { Dependencies } from '../dependencies.ts';
import { type BatchOffsets, type ImportRules, pinnedHeader, readBatches } from './import-batches.ts';

/** A row of an error file: its line, the line of the first file that it corrects, and whether it replaces the value. */
type Correction = { line: number; key: string; originalLine: number; isWhole: boolean };

/** The last lines of the first file that changed a customer's attribute: in any way, and as a whole. */
type LastLines = { any: number; whole: number };

/** Maximum number of corrections in memory, 30 MB: the first file is read once for each such portion. */
const CORRECTIONS_AT_ONCE = 100_000;
/** Number of records after which the step may end. */
const RECORDS_AT_ONCE = 10_000;

/** Finds the late lines of one import's error file, for many batches at once, in the order of its batches. */
export class OvertakenLines {
  readonly #deps: Dependencies;
  readonly #job: ReadableImport;
  #overtaken: ReadonlySet<number> = new Set();
  #foundUntil = 0;

  constructor(deps: Dependencies, job: ReadableImport) {
    this.#deps = deps;
    this.#job = job;
  }

  /** Returns the late lines of this batch, and maybe of others. A deleted first file makes no line late. */
  async in({ offset, line, nextOffset }: BatchOffsets, rules: ImportRules): Promise<ReadonlySet<number>> {
    if (!rules.hasErrorColumns || this.#job.rootId === null || nextOffset <= this.#foundUntil) return this.#overtaken;
    const corrections: Correction[] = [];
    const { file, fileFormat } = this.#job;
    const open = () => this.#deps.files.read(file.fileKey, offset);
    for await (const { pieces, offsets } of readBatches(open, fileFormat, offset, line, RECORDS_AT_ONCE)) {
      stopIfAsked(this.#deps);
      await addCorrections(corrections, pieces, rules);
      this.#foundUntil = offsets.nextOffset;
      if (corrections.length >= CORRECTIONS_AT_ONCE && this.#foundUntil >= nextOffset) break;
    }
    this.#overtaken = corrections.length === 0 ? new Set() : await this.#find(corrections, rules);
    return this.#overtaken;
  }

  async #find(corrections: readonly Correction[], rules: ImportRules): Promise<Set<number>> {
    const last = new Map<string, LastLines>(corrections.map(({ key }) => [key, { any: 0, whole: 0 }]));
    const note = (key: string, line: number, isWhole: boolean) => {
      const lines = last.get(key);
      if (lines === undefined) return;
      lines.any = Math.max(lines.any, line);
      if (isWhole) lines.whole = Math.max(lines.whole, line);
    };
    for (const { key, originalLine, isWhole } of corrections) note(key, originalLine, isWhole);
    const refused = await this.#noteErrors(last, note, rules);
    for await (const change of this.#changesOfFirstFile(rules)) {
      const key = keyOf(change);
      if (last.has(key) && !refused.has(`${change.line}/${key}`)) note(key, change.line, isWholeChange(change));
    }
    const overtaken = corrections.filter(({ key, originalLine, isWhole }) => {
      const { any, whole } = last.get(key)!;
      return whole > originalLine || (isWhole && any > originalLine);
    });
    return new Set(overtaken.map(({ line }) => line));
  }

  /** Notes the lines that re-drives have brought since, and returns those that the first import refused. */
  async #noteErrors(
    last: ReadonlyMap<string, LastLines>,
    note: (key: string, line: number, isWhole: boolean) => void,
    { attributes }: ImportRules,
  ): Promise<Set<string>> {
    const customers = [...new Set([...last.keys()].map((key) => key.slice(key.indexOf('/') + 1)))];
    const refused = new Set<string>();
    for (const { line, customerId, attributeKey, isRedriven } of await listErrorsOf(
      this.#deps.db,
      this.#job.entityId,
      this.#job.rootId!,
      customers,
    )) {
      const attribute = attributes.get(attributeKey);
      if (attribute === undefined) continue;
      const key = keyOf({ customerId, attributeId: attribute.id });
      refused.add(`${line}/${key}`);
      // The effect of an earlier re-drive on a Set is unknown here.
      if (isRedriven && attribute.valueType !== 'Set') note(key, line, true);
    }
    return refused;
  }

  async *#changesOfFirstFile({ attributes, sorDisabled, sorDeleted }: ImportRules): AsyncGenerator<AttributeChange> {
    const { db, files } = this.#deps;
    const { entityId, rootId } = this.#job;
    const root = await findImportById(db, entityId, rootId!);
    if (!root?.file || root.fileFormat === null || (await files.size(root.file.fileKey)) !== root.file.fileBytes)
      return;
    const {
      file: { fileKey },
      fileFormat,
    } = root;
    const header = await pinnedHeader(files, { ...root, file: root.file, fileFormat });
    if (!header.ok) return;
    const { format, offset, line } = header;
    const rules = { ...format, attributes, sorDisabled, sorDeleted };
    const slice = new TimeSlice();
    for await (const { pieces } of readBatches(
      () => files.read(fileKey, offset),
      fileFormat,
      offset,
      line,
      RECORDS_AT_ONCE,
    )) {
      stopIfAsked(this.#deps);
      for (const piece of pieces) {
        if (slice.isOver) await slice.next();
        yield* checkPieces([piece], rules, [0])[0]!.changes;
      }
    }
  }
}

async function addCorrections(corrections: Correction[], pieces: readonly Piece[], rules: ImportRules): Promise<void> {
  const slice = new TimeSlice();
  for (const piece of pieces) {
    if (slice.isOver) await slice.next();
    const [checked] = checkPieces([piece], rules, [0]);
    for (const change of checked!.changes) {
      const original = checked!.corrects.get(change.line);
      if (original === undefined) continue;
      corrections.push({
        line: change.line,
        key: keyOf(change),
        originalLine: original.line,
        isWhole: isWholeChange(change),
      });
    }
  }
}

function keyOf({ customerId, attributeId }: Pick<AttributeChange, 'customerId' | 'attributeId'>): string {
  return `${attributeId}/${customerId}`;
}

/** Returns whether a change replaces the whole value: adding or removing elements keeps the others. */
function isWholeChange(change: AttributeChange): boolean {
  return change.kind === 'value' || change.action === 'UPSERT' || change.action === 'DEL';
}
