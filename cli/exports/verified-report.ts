/** Prints the result of `millrace exporters verify`. */
import type { WindowFault } from '../../domain/exports/window-faults.ts';
import { escapeControls } from '../core/readable.ts';
import { printable, table } from '../core/table.ts';
import { isWhole, type VerifiedWindow } from './verify-window.ts';

export type VerifiedReport = {
  ok: boolean;
  /** Whether signatures were checked, and whether files were hashed. */
  isSigned: boolean;
  isDeep: boolean;
  windows: VerifiedWindow[];
  faults: (WindowFault & { exporter: string })[];
};

export function sayVerified(report: VerifiedReport, asJson: boolean, width: number | null): string {
  return asJson ? escapeControls(JSON.stringify(jsonOf(report), null, 2)) : textOf(report, width);
}

function jsonOf({ ok, isSigned, isDeep, windows, faults }: VerifiedReport): object {
  return {
    ok,
    signatures_checked: isSigned,
    hashed: isDeep,
    windows: windows.map((window) => ({ ok: isWhole(window), ...window })),
    gaps: faults.filter(({ kind }) => kind === 'gap').map(({ kind: _, ...gap }) => gap),
    overlaps: faults.filter(({ kind }) => kind === 'overlap').map(({ kind: _, ...overlap }) => overlap),
  };
}

function textOf(report: VerifiedReport, width: number | null): string {
  const { windows } = report;
  if (windows.length === 0) return 'There are no exports here: are --bucket, --prefix, --from and --to right?';
  const rows = windows.map((window) => [
    window.exporter,
    nameOf(window),
    window.run ?? '',
    `${window.files.length}`,
    `${window.rows}`,
    `${window.bytes}`,
    window.signature?.replace('_', ' ') ?? '',
    isWhole(window) ? 'ok' : 'FAULT',
  ]);
  const heads = ['exporter', 'window', 'run', 'files', 'rows', 'bytes', 'signature', 'state'];
  return [
    table(heads, rows, width),
    '',
    ...windows.flatMap(faultLines),
    ...report.faults.map(chainLine),
    summary(report),
  ].join('\n');
}

const nameOf = ({ manifest }: VerifiedWindow) => manifest.split('/').at(-2)!;

function faultLines({ manifest, faults, files, extra }: VerifiedWindow): string[] {
  return [
    ...faults.map((fault) => `${manifest} ${fault}`),
    ...files.filter(({ state }) => state !== 'ok').map(({ key, state, reason }) => `${key} ${reason ?? `is ${state}`}`),
    ...extra.map((key) => `${key} is extra: no manifest names it`),
  ].map(printable);
}

function chainLine({ exporter, kind, start, end }: VerifiedReport['faults'][number]): string {
  const span = `${start?.toISOString() ?? 'the beginning'} to ${end.toISOString()}`;
  return kind === 'gap' ? `${exporter}: no window has ${span}` : `${exporter}: more than one window has ${span}`;
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

function summary({ ok, isSigned, isDeep, windows, faults }: VerifiedReport): string {
  const files = windows.flatMap((window) => window.files);
  const bad = windows.filter((window) => !isWhole(window)).length;
  const how = [
    isDeep ? 'each hashed' : 'sizes only',
    isSigned ? 'signatures verified' : 'no signatures verified: --jwks does',
  ].join(', ');
  const verdict = ok ? 'All is there' : `${counted(bad, 'window')} with faults, ${faults.length} gaps and overlaps`;
  return `${verdict}: ${counted(windows.length, 'window')}, ${counted(files.length, 'file')} (${how}).`;
}
