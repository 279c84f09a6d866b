import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importMail, type ImportReport } from '../../../domain/imports/import-mail.ts';

const REPORT: ImportReport = {
  importId: 'imp_x',
  jid: 'jid_1',
  sorId: 'sor_1',
  state: 'finished',
  dryRun: false,
  rows: { read: 1000, ok: 998, ignored: 0, failed: 2 },
  errorsByType: { EMPTY_KEY: 1, INVALID_VALUE: 12345 },
  hasDefect: false,
  hasFileError: false,
  startedAt: '2026-01-31T12:30:00.000Z',
  endedAt: '2026-01-31T12:30:05.000Z',
  parentId: null,
  link: 'https://millrace.example.com/imports/imp_x',
};

describe('the mail about an import', () => {
  it('says in its subject how it went', () => {
    const subject = (change: Partial<ImportReport>) => importMail({ ...REPORT, ...change }).subject;
    expect(subject({})).toBe('Import imp_x into sor_1: 998 of 1,000 rows ok, 2 failed');
    expect(subject({ rows: { read: 7, ok: 7, ignored: 0, failed: 0 } })).toBe(
      'Import imp_x into sor_1: 7 of 7 rows ok',
    );
    expect(subject({ dryRun: true, rows: { read: 7, ok: 4, ignored: 3, failed: 0 } })).toBe(
      'Dry run of import imp_x into sor_1: 4 of 7 rows ok, 3 ignored',
    );
    expect(subject({ state: 'canceled' })).toBe('Import imp_x into sor_1: canceled, 998 of 1,000 rows ok, 2 failed');
    expect(subject({ state: 'failed', rows: { read: 0, ok: 0, ignored: 0, failed: 0 } })).toBe(
      'Import imp_x into sor_1: failed',
    );
    expect(subject({ hasDefect: true })).toBe(
      'Import imp_x into sor_1: 998 of 1,000 rows ok, 2 failed, end of file unreadable',
    );
  });

  it('has the counts in a column, the commonest error first, the link on its own line and the way to mend the rows', () => {
    expect(importMail({ ...REPORT, parentId: 'imp_w' }).text).toBe(`Import imp_x into sor_1 has finished.
It brought rows again that had failed in imp_w.

Rows
  read     1,000
  ok         998
  ignored      0
  failed       2

Errors
  INVALID_VALUE  12,345
  EMPTY_KEY           1

Failed rows: npx --no-install millrace errors imp_x --csv, correct them, then: npx --no-install millrace redrive imp_x FILE

https://millrace.example.com/imports/imp_x

From 2026-01-31T12:30:00.000Z to 2026-01-31T12:30:05.000Z; jid jid_1
`);
  });

  it('of a file that could not be imported says so, and what a dry run leaves', () => {
    const rows = { read: 0, ok: 0, ignored: 0, failed: 0 };
    const { text } = importMail({
      ...REPORT,
      state: 'failed',
      dryRun: true,
      rows,
      errorsByType: {},
      hasFileError: true,
    });
    expect(text).toContain(
      'Dry run of import imp_x into sor_1 has failed.\nThe file could not be imported. The link shows why.\n',
    );
    expect(text).toContain('A dry run writes nothing.');
    expect(text).not.toMatch(/Errors|redrive/);
  });

  it('offers no redrive of a dry run', () => {
    const { text } = importMail({ ...REPORT, dryRun: true });
    expect(text).toContain(
      'Failed rows: npx --no-install millrace errors imp_x --csv, correct them before you import the file.',
    );
    expect(text).not.toContain('redrive');
  });
});

const line = fc.string({ unit: 'binary', maxLength: 400 });
const odd = fc.constantFrom('\r\n', '\0', '\u2028', '\u202E', '\x85', '\uD83D');
const hostile = fc.oneof(
  line,
  fc.array(fc.oneof(line, odd)).map((all) => all.join('')),
);
const count = fc.nat({ max: 2 ** 40 });
const reports: fc.Arbitrary<ImportReport> = fc.record({
  importId: fc.stringMatching(/^imp_[a-z0-9]{1,20}$/),
  jid: fc.uuid(),
  sorId: hostile,
  state: fc.constantFrom('finished', 'failed', 'canceled'),
  dryRun: fc.boolean(),
  rows: fc.record({ read: count, ok: count, ignored: count, failed: count }),
  errorsByType: fc.dictionary(fc.stringMatching(/^[A-Z_]{1,20}$/), count, { maxKeys: 16 }),
  hasDefect: fc.boolean(),
  hasFileError: fc.boolean(),
  startedAt: fc.constant(REPORT.startedAt),
  endedAt: fc.constant(REPORT.endedAt),
  parentId: fc.option(fc.constant('imp_w')),
  link: fc.webUrl(),
});

describe('whatever the import is like', () => {
  it('the subject is one short line of characters that show, and begins with the import', () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { subject } = importMail(report);
        expect(subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/u);
        expect([...subject].length).toBeLessThanOrEqual(240);
        expect(subject).toContain(`mport ${report.importId} into `);
      }),
    );
  });

  it('the text has every count, the link on a line of its own, and is bounded', () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { text } = importMail(report);
        const lines = text.split('\n');
        for (const [name, number] of [...Object.entries(report.rows), ...Object.entries(report.errorsByType)]) {
          const shown = lines.filter((each) => each.startsWith(`  ${name} `)).map((each) => each.trim().split(/ +/));
          expect(shown).toEqual([[name, number.toLocaleString('en-US')]]);
        }
        expect(lines).toContain(report.link);
        expect(text).not.toMatch(/[^\P{Cc}\n]/u);
        expect(lines.every((each) => each === report.link || [...each].length <= 400)).toBe(true);
      }),
    );
  });
});
