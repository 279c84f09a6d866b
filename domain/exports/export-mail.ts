/** The mail about a run of an exporter. */
import { aligned, MAX_NAME, oneLine, reasonOf } from '../text/mail-text.ts';
import { type RunMail, runMail, type RunReport } from '../jobs/run-mail.ts';

/** How a run of an exporter ended. Instants are ISO 8601. */
export type ExportReport = RunReport<'late'> & {
  exporterId: string;
  cause: 'schedule' | 'request' | 'rerun' | 'backfill';
  /** A start of null: all there is before the end. */
  window: { start: string | null; end: string };
  days: { from: string; to: string } | null;
  rows: number;
  rerunOf: string | null;
  /** It stays so, although this run was good. */
  isPaused: boolean;
  /** Rows of earlier windows that came after these were exported. */
  late: { runId: string; window: { start: string | null; end: string }; type: string; rows: number }[];
};

/** Maximum number of late windows in a mail; the runs list the others. */
const LATE_TOLD = 20;

export function exportMail(report: ExportReport): RunMail {
  const { exporterId, alert, failure, rows } = report;
  const isGood = alert === 'recovered' || alert === 'late';
  const parts = [[windowLine(report), ...(isGood ? aligned([['rows', rows]]) : [])], adviceLines(report)];
  const title = `Exporter ${oneLine(exporterId, MAX_NAME)}`;
  const reasons = failure === null ? [] : [reasonOf(failure)];
  return runMail(report, { late: 'rows came late' }, title, { reasons, parts });
}

function windowLine({ days, window }: ExportReport): string {
  return days ? `Days ${days.from} to ${days.to}` : `Window ${sayWindow(window)}`;
}

function sayWindow({ start, end }: ExportReport['window']): string {
  return `${start ?? 'from the beginning'} to ${end}`;
}

function adviceLines(report: ExportReport): string[] {
  const { alert, isPaused } = report;
  const activate = `npx --no-install millrace exporters activate ${oneLine(report.exporterId, MAX_NAME)}`;
  if (alert === 'failed') return failedLines(report);
  if (alert === 'paused') {
    return [
      'It runs no more by itself. Nothing is lost: the next run begins where the last good one ended.',
      `Mend it; to try: npx --no-install millrace exporters run ${oneLine(report.exporterId, MAX_NAME)}; then: ${activate}`,
    ];
  }
  return [...lateLines(report), ...(isPaused ? [`It is still paused. To let it run each day again: ${activate}`] : [])];
}

function failedLines({ cause, exporterId, days, rerunOf }: ExportReport): string[] {
  const exporter = oneLine(exporterId, MAX_NAME);
  if (cause === 'schedule' || cause === 'request') {
    return [
      'Nothing is lost: the next run begins where the last good one ended.',
      `Mend it; then wait for the next day, or: npx --no-install millrace exporters run ${exporter}`,
    ];
  }
  if (rerunOf !== null) {
    const rerun = `npx --no-install millrace exporters rerun ${oneLine(rerunOf, MAX_NAME)}`;
    return [`What was exported before stays. Mend it, then: ${rerun}`];
  }
  return days
    ? [`Mend it, then: npx --no-install millrace exporters backfill ${exporter} --from ${days.from} --to ${days.to}`]
    : [];
}

function lateLines({ late }: ExportReport): string[] {
  if (late.length === 0) return [];
  const told = late
    .slice(0, LATE_TOLD)
    .map(
      ({ runId, window, type, rows }) =>
        `  ${sayWindow(window)}: ${rows} of ${type}; npx --no-install millrace exporters rerun ${oneLine(runId, MAX_NAME)}`,
    );
  const more = late.length > LATE_TOLD ? [`  and ${late.length - LATE_TOLD} more`] : [];
  return [
    'These rows are in no file, since they came after their window was exported. To export it again:',
    ...told,
    ...more,
  ];
}
