import { expect, test } from 'vitest';
import { syncMail, type SyncReport } from '../../../domain/syncs/sync-mail.ts';

const REPORT: SyncReport = {
  syncId: 'syn_1',
  runId: 'run_1',
  alert: 'failed',
  failure: 'source_refused',
  counts: { read: 1_234, written: 1_200, unchanged: 30, ignored: 0, failed: 4 },
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:01:00.000Z',
  link: 'http://millrace.test/api/syncs/syn_1/runs/run_1',
};

test('tells what happened, why, the counts, what to do, and where to look', () => {
  const { subject, text } = syncMail(REPORT);
  expect(subject).toBe('Sync syn_1: a run failed');
  expect(text).toBe(
    [
      'Sync syn_1: a run failed.',
      'The outside system, or its settings, must be corrected first. The link shows the details.',
      '',
      'Records',
      '  read       1,234',
      '  written    1,200',
      '  unchanged     30',
      '  ignored        0',
      '  failed         4',
      '',
      'Failed records: npx --no-install millrace syncs errors run_1; mend them, then: npx --no-install millrace syncs redrive run_1',
      '',
      'http://millrace.test/api/syncs/syn_1/runs/run_1',
      '',
      'Run run_1, from 2026-01-01T00:00:00.000Z to 2026-01-01T00:01:00.000Z',
      '',
    ].join('\n'),
  );
});

test.each([
  ['paused', 'npx --no-install millrace syncs resume syn_1'],
  ['held', 'npx --no-install millrace syncs run syn_1 --confirm-removals'],
] as const)('says what ends it: %s', (alert, command) => {
  expect(syncMail({ ...REPORT, alert }).text).toContain(command);
});

test('says why nothing was removed, and of a failure that has no words of ours that it could not go on', () => {
  expect(syncMail({ ...REPORT, alert: 'held', failure: null }).text).toContain(
    'More records have vanished from the source',
  );
  expect(syncMail({ ...REPORT, failure: 'http://evil.example' }).text).toContain(
    'It could not go on. The link shows the details.',
  );
});
