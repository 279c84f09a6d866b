import type * as api from '../../api/exports/export-reconciliation.ts';
import type { ExportFile, ExportRecord } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import type { FileState, ManifestState } from './export-verification.ts';

type Window = api.ReconciledWindow;

const NOTHING = { rows: 0, bytes: 0, types: [], manifest: null, elsewhere: false };

/** What was verified of a run's files, by their keys, and of its manifest. */
export type Verified = { files: Map<string, FileState>; manifest: ManifestState };

export type ExportedParts = {
  records: ExportRecord[];
  files: ExportFile[];
  verified: Verified | null;
  isElsewhere: boolean;
};

export function showExported(run: ExportRun, { records, files, verified, isElsewhere }: ExportedParts): Window {
  return {
    window: { start: run.window.start && wholeSeconds(run.window.start), end: wholeSeconds(run.window.end) },
    state: 'exported',
    reason: null,
    run: run.identifier,
    run_state: run.state,
    rows: records.reduce((sum, { rows }) => sum + rows, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    types: records.map(({ dataType, expected, rows, lateRows }) => ({
      type: dataType,
      expected,
      written: rows,
      late: lateRows,
      files: files.filter((file) => file.dataType === dataType).map((file) => showFile(file, verified)),
    })),
    manifest:
      run.manifestKey === null
        ? null
        : { key: run.manifestKey, sha256: run.manifestSha256!, state: verified && verified.manifest },
    elsewhere: isElsewhere,
  };
}

function showFile({ key, part, rows, bytes, sha256 }: ExportFile, verified: Verified | null): api.ReconciledFile {
  return { key, part, rows, bytes, sha256, state: verified?.files.get(key) ?? null };
}

/** The time between the ends and beginnings of two windows. */
export function showGap(start: Date, end: Date): Window {
  return {
    ...NOTHING,
    window: { start: wholeSeconds(start), end: wholeSeconds(end) },
    state: 'gap',
    reason: null,
    run: null,
    run_state: null,
  };
}

/** What was due, and where the run stands that was to export it. */
export function showMissing(start: Date | null, end: Date, run: ExportRun | null, paused: string | null): Window {
  return {
    ...NOTHING,
    window: { start: start && wholeSeconds(start), end: wholeSeconds(end) },
    state: 'missing',
    reason: paused ?? run?.failure?.message ?? run?.fault ?? null,
    run: run && run.identifier,
    run_state: run && run.state,
  };
}
