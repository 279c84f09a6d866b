import type { ExportRun } from '../../api/client.ts';
import { printable, table } from '../core/table.ts';
import type { Terminal } from '../core/terminal.ts';
import { troubleLines } from '../jobs/runs.ts';

/** Returns the exit status for a run that has ended: 0 if it finished, else 2. */
export function exportExitStatus({ state }: ExportRun): number {
  return state === 'finished' ? 0 : 2;
}

/** Describes a run's state or result for people. */
export function reportExportRun(run: ExportRun, { width, command }: Terminal): string {
  const { state, rows, types } = run;
  const lines = [`${state}: ${rows} ${rows === 1 ? 'row' : 'rows'} of ${sayWindow(run)}`];
  if (run.covered) lines.push('an earlier run had exported all of it: nothing was written');
  if (run.rerun_of !== null) lines.push(`a rerun of ${run.rerun_of}`);
  if (run.covers.length > 0) lines.push(`it stands for ${run.covers.length} more scheduled times`);
  lines.push(...troubleLines(run));
  if (run.manifest_key !== null) lines.push(`manifest: ${printable(run.manifest_key)}`);
  if (types.length > 0)
    lines.push('', table(['type', 'expected', 'rows', 'files', 'late rows'], types.map(typeCells), width));
  const ambiguous = types.reduce((sum, { ambiguous_sets: sets }) => sum + (sets ?? 0), 0);
  if (ambiguous > 0) {
    const sets = ambiguous === 1 ? '1 Set has' : `${ambiguous} Sets have`;
    lines.push(
      '',
      `${sets} elements with ; or empty ones, which CSV cannot give back: set the exporter's format to jsonl or parquet.`,
    );
  }
  if (types.some(({ late_rows: late }) => late !== null && late > 0)) {
    lines.push(
      '',
      `Late rows are in no file. To export the window again: ${command} exporters rerun ${run.rerun_of ?? run.identifier}`,
    );
  }
  return lines.join('\n');
}

export function sayWindow({ days, window: { start, end }, state, cause }: ExportRun): string {
  if (days) return `${days.from} to ${days.to}`;
  const isOpen = state === 'accepted' && cause !== 'rerun';
  return `${start ?? (isOpen ? 'the last good run' : 'the beginning')} to ${end}`;
}

function typeCells({ type, expected, rows, files, late_rows: late }: ExportRun['types'][number]): string[] {
  return [
    type,
    expected === null ? '' : String(expected),
    String(rows),
    String(files),
    late === null ? '' : String(late),
  ];
}
