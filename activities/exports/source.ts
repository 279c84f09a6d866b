/** Reads the rows of an exported type from the database, ahead of the files that take them. */
import { Readable } from 'node:stream';
import type { ExportDataType } from '../../domain/exports/export-data-type.ts';
import { listAppsById } from '../../store/apps/apps.ts';
import { listSorNames } from '../../store/attributes/systems-of-records.ts';
import { copyOut } from '../../store/core/copy-out.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { ExportCheckpoint } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import type { ExportSession } from '../../store/exports/export-session.ts';
import { type ExportScope, type Slice, slicesOf } from '../../store/exports/export-sources.ts';
import type { SlicePiece } from './slice-reader.ts';

/** Returns the scope of a run, without apps and SoRs that are gone by now. */
export async function scopeOf(db: Queryable, { entityId, definition, window }: ExportRun): Promise<ExportScope> {
  const { appIds, sorIds, format } = definition!;
  return {
    entityId,
    window,
    format,
    apps: [...(await listAppsById(db, entityId, appIds)).values()],
    sors: [...(await listSorNames(db, entityId, sorIds))].map(([id, { identifier }]) => ({ id, identifier })),
  };
}

/** Two sessions in turn: while one reads a slice, the other prepares the next one. */
export type SliceSessions = readonly [ExportSession, ExportSession];

/** Number of pieces of the next slice that are fetched while this one is consumed. */
const PIECES_AHEAD = 64;

type OpenSlice = { stream: Readable; rows: () => number; next: ExportCheckpoint };

/** Yields the rows of a type as bytes, slice by slice. */
export async function* readSlices(
  sessions: SliceSessions,
  type: ExportDataType,
  scope: ExportScope,
  from: ExportCheckpoint | null,
): AsyncGenerator<SlicePiece> {
  const slices = slicesOf(sessions[0], type, scope, from);
  let count = 0;
  const openNext = async (): Promise<OpenSlice | null> => {
    const { value: slice, done } = await slices.next();
    return done ? null : openSlice(sessions[count++ % 2]!, slice);
  };
  let open = await openNext();
  let following: Promise<OpenSlice | null> = Promise.resolve(null);
  try {
    while (open) {
      following = openNext();
      following.catch(() => {}); // the await below throws it
      for await (const bytes of open.stream) yield { bytes: bytes as Buffer };
      yield { rows: open.rows(), next: open.next };
      open = await following;
    }
  } finally {
    following.then(
      (slice) => slice?.stream.destroy(),
      () => {},
    );
  }
}

/** Begins to read at once. */
function openSlice(session: ExportSession, { statement, next }: Slice): OpenSlice {
  const { bytes, rows } = copyOut(session, statement);
  const stream = Readable.from(bytes, { highWaterMark: PIECES_AHEAD });
  stream.on('error', () => {}); // the consumer receives it
  stream.read(0);
  return { stream, rows, next };
}
