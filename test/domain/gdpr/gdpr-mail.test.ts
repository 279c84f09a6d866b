import { expect, test } from 'vitest';
import { gdprMail, type GdprReport } from '../../../domain/gdpr/gdpr-mail.ts';

const REPORT: GdprReport = {
  kind: 'treated',
  identifier: 'gdp_1',
  type: 'access',
  isFromDevice: false,
  people: 2,
  held: 0,
  archives: [
    { ordinal: 1, told: 'https://m.test/a' },
    { ordinal: 3, told: 'No installations found for this user' },
  ],
  receivedAt: '2026-11-01T10:00:00.000Z',
  expiresAt: '2026-11-09T10:00:00.000Z',
  daysLeft: 23,
  link: 'https://m.test/r',
  receiptLink: 'https://m.test/r/receipt',
};

test('tells where each archive is, until when, and where the status is', () => {
  const { subject, text } = gdprMail(REPORT);
  expect(subject).toBe('Access request gdp_1: treated');
  expect(text).toContain('It is about 2 people and was received 2026-11-01T10:00:00.000Z.');
  expect(text).toMatch(
    /until 2026-11-09T10:00:00\.000Z[^]*\n1\. https:\/\/m\.test\/a\n3\. No installations found for this user\n/,
  );
  expect(text).toContain('Its status:\nhttps://m.test/r\n');
});

test('links 50 archives, and says how many more there are', () => {
  const archives = Array.from({ length: 52 }, (_, index) => ({
    ordinal: index + 1,
    told: `https://m.test/${index + 1}`,
  }));
  const { text } = gdprMail({ ...REPORT, archives });
  expect(text).toContain('50. https://m.test/50\nand 2 more, which the status names');
  expect(text).not.toContain('51. ');
});

test('says nothing of links where there is none', () => {
  const { text } = gdprMail({ ...REPORT, archives: REPORT.archives.slice(1) });
  expect(text).toContain('In the order in which they were asked for:\n3. No installations found for this user\n');
});

test.each([
  ['a deletion that is done', { type: 'delete' }, 'treated', 'Deleted: 2 people', 'https://m.test/r/receipt'],
  [
    'one that waits',
    { type: 'delete', kind: 'waiting', isFromDevice: true },
    'waits for approval',
    'npx --no-install millrace gdpr approve gdp_1',
    'from a device',
  ],
  [
    'one with people on hold',
    { type: 'delete', kind: 'held', people: 3, held: 1 },
    'on hold',
    'Of them 2 are treated, 1 is on hold.',
    'gdpr holds',
  ],
  [
    'one whose only person is on hold',
    { type: 'delete', kind: 'held', people: 1, held: 1 },
    'on hold',
    'they are on hold.',
    'gdpr holds',
  ],
  [
    'one whose time runs out',
    { type: 'delete', kind: 'near_deadline', daysLeft: 1 },
    '1 day left',
    '1 day of its 30 are left',
    'status',
  ],
  [
    'one whose time is over',
    { kind: 'near_deadline', daysLeft: 0 },
    'its 30 days are over',
    'its 30 days are over',
    'status',
  ],
] satisfies [string, Partial<GdprReport>, string, string, string][])(
  'of %s says what to do',
  (_, more, headline, ...told) => {
    const { subject, text } = gdprMail({ ...REPORT, ...more });
    expect(subject).toContain(headline);
    for (const part of told) expect(text).toContain(part);
  },
);
