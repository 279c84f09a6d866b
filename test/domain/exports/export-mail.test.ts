import { expect, test } from 'vitest';
import { exportMail, type ExportReport } from '../../../domain/exports/export-mail.ts';

const REPORT: ExportReport = {
  exporterId: 'exp_1',
  runId: 'run_1',
  cause: 'schedule',
  alert: 'failed',
  failure: 'source_refused',
  window: { start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' },
  days: null,
  rows: 12_345,
  rerunOf: null,
  isPaused: false,
  late: [],
  startedAt: '2026-01-02T03:00:00.000Z',
  endedAt: '2026-01-02T03:01:00.000Z',
  link: 'http://millrace.test/api/data_exporters/exp_1/runs/run_1',
};
const late = (rows: number) => ({
  runId: 'run_0',
  window: { start: null, end: '2025-12-31T00:00:00Z' },
  type: 'logs',
  rows,
});

test('tells what happened, why, of which window, what to do, and where to look', () => {
  const { subject, text } = exportMail(REPORT);
  expect(subject).toBe('Exporter exp_1: a run failed');
  expect(text).toBe(
    [
      'Exporter exp_1: a run failed.',
      'The outside system, or its settings, must be corrected first. The link shows the details.',
      '',
      'Window 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z',
      '',
      'Nothing is lost: the next run begins where the last good one ended.',
      'Mend it; then wait for the next day, or: npx --no-install millrace exporters run exp_1',
      '',
      'http://millrace.test/api/data_exporters/exp_1/runs/run_1',
      '',
      'Run run_1, from 2026-01-02T03:00:00.000Z to 2026-01-02T03:01:00.000Z',
      '',
    ].join('\n'),
  );
});

test.each([
  ['a pause', { alert: 'paused' }, 'then: npx --no-install millrace exporters activate exp_1'],
  ['a rerun that failed', { cause: 'rerun', rerunOf: 'run_0' }, 'npx --no-install millrace exporters rerun run_0'],
  [
    'a backfill that failed',
    { cause: 'backfill', days: { from: '2026-01-01', to: '2026-01-31' } },
    'npx --no-install millrace exporters backfill exp_1 --from 2026-01-01 --to 2026-01-31',
  ],
  [
    'one that works again though it is paused',
    { alert: 'recovered', failure: null, isPaused: true },
    'millrace exporters activate exp_1',
  ],
  [
    'rows that came late',
    { alert: 'late', failure: null, late: [late(3)] },
    '  from the beginning to 2025-12-31T00:00:00Z: 3 of logs; npx --no-install millrace exporters rerun run_0',
  ],
  ['many of these', { alert: 'late', failure: null, late: Array.from({ length: 25 }, () => late(1)) }, '  and 5 more'],
] satisfies [string, Partial<ExportReport>, string][])('says what to do after %s', (_, more, advice) => {
  expect(exportMail({ ...REPORT, ...more }).text).toContain(advice);
});

test('tells the rows of a good run', () => {
  expect(exportMail({ ...REPORT, alert: 'recovered', failure: null }).text).toContain('rows  12,345');
});
