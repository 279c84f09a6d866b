import { describe, expect, it } from 'vitest';
import type { CampaignType } from '../../../domain/campaigns/campaign-status.ts';
import { duplicateOf } from '../../../domain/campaigns/duplicate.ts';

describe('the duplicate of a campaign', () => {
  const now = new Date('2026-11-24T12:00:00Z');
  const undated = { type: 'classic' as const, startDate: null, endDate: null, createdAt: now };

  it('has its name with a mark, within what a name may have', () => {
    expect(duplicateOf({ ...undated, name: 'Sale' }, now).name).toBe('Sale (copy)');
    expect(duplicateOf({ ...undated, name: 'n'.repeat(256) }, now).name).toBe(`${'n'.repeat(249)} (copy)`);
    expect(duplicateOf({ ...undated, name: '😀'.repeat(256) }, now).name).toBe(`${'😀'.repeat(249)} (copy)`);
  });

  it('keeps dates that lie ahead, and leaves out those that have passed, but for the end of a dynamic one, which moves', () => {
    // Days from now: type, start and end of the campaign, those of its duplicate.
    const cases: [CampaignType, number | null, number | null, number | null, number | null][] = [
      ['classic', null, null, null, null],
      ['classic', null, 5, null, 5],
      ['classic', null, -1, null, null],
      ['classic', 2, 5, 2, 5],
      ['classic', 2, 32, 2, 32],
      ['classic', 2, -1, 2, 32],
      ['classic', -2, 5, null, 5],
      ['classic', -2, 28, null, null],
      ['classic', -40, -10, null, null],
      ['classic', 0, 0, null, null],
      ['transactional', -2, 28, null, null],
      ['transactional', -2, 5, null, 5],
      ['transactional', -9, -2, null, null],
      ['dynamic', 2, 9, 2, 9],
      ['dynamic', null, 9, null, 9],
      ['dynamic', -2, 28, null, 28],
      ['dynamic', -12, -5, null, 7],
      ['dynamic', null, -5, null, 95],
      ['dynamic', -7, 0, null, 7],
    ];
    const inDays = (days: number | null) => (days === null ? null : new Date(now.getTime() + days * 86_400_000));
    for (const [type, start, end, ...expected] of cases) {
      const dates = duplicateOf(
        { name: 'Sale', type, startDate: inDays(start), endDate: inDays(end), createdAt: inDays(-100)! },
        now,
      );
      expect([type, start, end, dates.startDate, dates.endDate]).toEqual([type, start, end, ...expected.map(inDays)]);
    }
  });
});
