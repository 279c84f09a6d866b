import { z } from 'zod';
import type { ExportFile, ExportRecord } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { FILE_STATES, type FileState, MANIFEST_STATES, type ManifestState } from './export-verification.ts';

const instant = z.iso.datetime();

const File = z.object({
  key: z.string(), part: z.int(), rows: z.int(), bytes: z.int(), sha256: z.string(),
  state: z.enum(FILE_STATES).nullable().describe('In the bucket, where that was asked for'),
});

/** A window of an exporter, or the time between two. */
export const ReconciledWindow = z.object({
  window: z.object({ start: instant.nullable().describe('Null: all there is'), end: instant }),
  state: z.enum(['exported', 'gap', 'missing'])
    .describe('gap: no run has exported it, and none will by itself; missing: it was due, and is not exported yet'),
  reason: z.string().nullable().describe('Why it is missing, where a run gave a reason'),
  run: z.string().nullable().describe('The one whose files count, or that is behind'),
  run_state: z.string().nullable(),
  rows: z.int(),
  bytes: z.int(),
  types: z.array(z.object({
    type: z.string(),
    expected: z.int().nullable().describe('Rows that were counted before the first was written'),
    written: z.int(),
    late: z.int().nullable().describe('Rows that came after the window was exported; null: not counted yet, or unknown'),
    files: z.array(File),
  })),
  manifest: z.object({
    key: z.string(), sha256: z.string(),
    state: z.enum(MANIFEST_STATES).nullable().describe('In the bucket, where that was asked for'),
  }).nullable(),
  elsewhere: z.boolean().describe('It lies in a bucket that the exporter no longer writes to, and is not verified'),
});
type Window = z.input<typeof ReconciledWindow>;

const NOTHING = { rows: 0, bytes: 0, types: [], manifest: null, elsewhere: false };

/** What was verified of a run's files, by their keys, and of its manifest. */
export type Verified = { files: Map<string, FileState>; manifest: ManifestState };

export type ExportedParts = { records: ExportRecord[]; files: ExportFile[]; verified: Verified | null; isElsewhere: boolean };

export function showExported(run: ExportRun, { records, files, verified, isElsewhere }: ExportedParts): Window {
  return {
    window: { start: run.window.start && wholeSeconds(run.window.start), end: wholeSeconds(run.window.end) },
    state: 'exported', reason: null, run: run.identifier, run_state: run.state,
    rows: records.reduce((sum, { rows }) => sum + rows, 0), bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    types: records.map(({ dataType, expected, rows, lateRows }) => ({
      type: dataType, expected, written: rows, late: lateRows,
      files: files.filter((file) => file.dataType === dataType).map((file) => showFile(file, verified)),
    })),
    manifest: run.manifestKey === null ? null
      : { key: run.manifestKey, sha256: run.manifestSha256!, state: verified && verified.manifest },
    elsewhere: isElsewhere,
  };
}

function showFile({ key, part, rows, bytes, sha256 }: ExportFile, verified: Verified | null): z.input<typeof File> {
  return { key, part, rows, bytes, sha256, state: verified?.files.get(key) ?? null };
}

/** The time between the ends and beginnings of two windows. */
export function showGap(start: Date, end: Date): Window {
  return {
    ...NOTHING, window: { start: wholeSeconds(start), end: wholeSeconds(end) }, state: 'gap', reason: null, run: null, run_state: null,
  };
}

/** What was due, and where the run stands that was to export it. */
export function showMissing(start: Date | null, end: Date, run: ExportRun | null, paused: string | null): Window {
  return {
    ...NOTHING, window: { start: start && wholeSeconds(start), end: wholeSeconds(end) }, state: 'missing',
    reason: paused ?? run?.failure?.message ?? run?.fault ?? null, run: run && run.identifier, run_state: run && run.state,
  };
}
