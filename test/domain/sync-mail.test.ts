import fc from 'fast-check';
import { expect, test } from 'vitest';
import { syncMail, type SyncReport } from '../../domain/sync-mail.ts';

const REPORT: SyncReport = {
  syncId: 'syn_1', syncName: 'Customers', runId: 'run_1', alert: 'failed', reason: 'the host answered 404 Not Found: check the address',
  counts: { read: 1_234, written: 1_200, unchanged: 30, ignored: 0, failed: 4 },
  startedAt: '2026-01-01T00:00:00.000Z', endedAt: '2026-01-01T00:01:00.000Z', link: 'http://millrace.test/api/syncs/syn_1/runs/run_1',
};

test('tells what happened, why, the counts, what to do, and where to look', () => {
  const { subject, text } = syncMail(REPORT);
  expect(subject).toBe('Sync Customers: a run failed');
  expect(text).toBe([
    'Sync Customers: a run failed.', 'the host answered 404 Not Found: check the address', '',
    'Records', '  read       1,234', '  written    1,200', '  unchanged     30', '  ignored        0', '  failed         4', '',
    'Failed records: millrace syncs errors run_1; mend them, then: millrace syncs redrive run_1', '',
    'http://millrace.test/api/syncs/syn_1/runs/run_1', '',
    'Run run_1, from 2026-01-01T00:00:00.000Z to 2026-01-01T00:01:00.000Z', '',
  ].join('\n'));
});

test.each([
  ['paused', 'millrace syncs resume syn_1'], ['held', 'millrace syncs run syn_1 --confirm-removals'],
] as const)('says what ends it: %s', (alert, command) => {
  expect(syncMail({ ...REPORT, alert }).text).toContain(command);
});

test('has a subject of one line whatever the sync is called, and leaves out what a reason quotes', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (syncName, quoted) => {
    const { subject, text } = syncMail({ ...REPORT, syncName, reason: `the key "zq${quoted}" is wrong` });
    expect(subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    expect(subject.isWellFormed() && text.isWellFormed()).toBe(true);
    expect(text).not.toContain('zq');
  }));
});
