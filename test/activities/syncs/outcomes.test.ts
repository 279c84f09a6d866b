import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { toOutgoing } from '../../../activities/syncs/outgoing.ts';
import { RecordMapper } from '../../../activities/syncs/record-mapper.ts';
import { type BatchRecord, decideOutcomes, notesOf, progressAfter } from '../../../activities/syncs/outcomes.ts';
import { type ImportError, isOfErased } from '../../../domain/imports/import-error.ts';
import type { KnownRecord } from '../../../store/syncs/sync-records.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import type { RunProgress, SyncRun } from '../../../store/syncs/sync-run-record.ts';

const RUN = { id: 10, fresh: false, rootId: null } as SyncRun;
const errorAt = (line: number, outcome: ImportError['outcome']): ImportError => ({
  line,
  errorType: 'INVALID_VALUE',
  outcome,
  stage: 'validation',
  message: 'x',
  customerId: null,
  attributeKey: null,
  raw: null,
  originalLine: null,
  customerHash: null,
});

type Sketch = { key: 'a' | 'b' | 'c' | null; says: string; fault: ImportError['outcome'] | null };
type SketchedDeletion = { deletes: string[] };
/** A record that failed without a key, and came with these keys before. */
type SketchedKeyless = { knownAs: string[] };

const sketch = fc.record({
  key: fc.constantFrom('a', 'b', 'c', null),
  says: fc.constantFrom('1', '2'),
  fault: fc.constantFrom(null, null, null, 'failed', 'ignored'),
}) as fc.Arbitrary<Sketch>;
const deletion = fc.record({ deletes: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }) });
const sketches = fc.array(sketch, { maxLength: 12 });
const keyless = fc.record({ knownAs: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }) });
const mixed = fc.array(
  fc.oneof({ weight: 3, arbitrary: sketch }, { weight: 1, arbitrary: deletion }, { weight: 1, arbitrary: keyless }),
  { maxLength: 12 },
);

function toRecords(some: (Sketch | SketchedDeletion | SketchedKeyless)[], from = 0): BatchRecord[] {
  return some.map((each, index): BatchRecord => {
    const nothing = {
      ordinal: from + index + 1,
      rootLine: null,
      sourceKey: null,
      key: null,
      checksum: null,
      error: null,
    };
    if ('deletes' in each) return { ...nothing, deletes: each.deletes };
    if ('knownAs' in each)
      return { ...nothing, sourceKey: '1', error: errorAt(nothing.ordinal, 'failed'), knownAs: each.knownAs };
    const { key, says, fault } = each;
    return {
      ...nothing,
      key,
      checksum: fault === null ? says : null,
      error: fault === null ? null : errorAt(from + index + 1, fault),
    };
  });
}

/** What is known once a batch has been noted down. */
function known(before: Map<string, KnownRecord>, records: BatchRecord[], run = RUN): Map<string, KnownRecord> {
  const { handled, seen, deleted } = notesOf(records, decideOutcomes(records, before, run), run);
  const after = new Map([
    ...before,
    ...handled.map(({ key, checksum }): [string, KnownRecord] => [key, { checksum, runId: run.id, isDeleted: false }]),
  ]);
  for (const { key } of seen) if (after.has(key)) after.set(key, { ...after.get(key)!, isDeleted: false });
  for (const key of deleted) if (after.has(key)) after.set(key, { ...after.get(key)!, isDeleted: true });
  return after;
}

describe('records of a batch', () => {
  test('have the same fates, and leave the same behind, in one batch as in two', () => {
    fc.assert(
      fc.property(mixed, mixed, fc.boolean(), (first, second, isFresh) => {
        const run = { ...RUN, fresh: isFresh };
        const start = new Map<string, KnownRecord>([['a', { checksum: '1', runId: 5, isDeleted: false }]]);
        const together = toRecords([...first, ...second]);
        const [one, two] = [toRecords(first), toRecords(second, first.length)];
        const between = known(start, one, run);
        expect(decideOutcomes(together, start, run)).toEqual([
          ...decideOutcomes(one, start, run),
          ...decideOutcomes(two, between, run),
        ]);
        expect(known(start, together, run)).toEqual(known(between, two, run));
      }),
    );
  });

  test('are unchanged exactly where the last of their key said the same', () => {
    fc.assert(
      fc.property(sketches, (some) => {
        const records = toRecords(some);
        for (const [index, outcome] of decideOutcomes(records, new Map(), RUN).entries()) {
          const { key, says, fault } = some[index]!;
          const before = key === null ? undefined : some.slice(0, index).findLast((other) => other.key === key);
          const isSame = fault === null && before?.fault === null && before.says === says;
          expect(outcome).toBe(fault ?? (isSame ? 'unchanged' : 'written'));
        }
      }),
    );
  });

  test('are each counted once', () => {
    const none: RunProgress = {
      read: 0,
      written: 0,
      unchanged: 0,
      ignored: 0,
      failed: 0,
      errorsByType: {},
      bytes: 0,
      unnamed: 0,
      unidentified: 0,
      position: null,
      unmappedFields: [],
      batchesTaken: 0,
      recordsTaken: 0,
      lanesDone: [0, 0],
      share: null,
      oddCursors: 0,
      deletionsIgnored: 0,
      suspiciousIds: 0,
    };
    fc.assert(
      fc.property(sketches, (some) => {
        const records = toRecords(some).map((each, index) => ({ ...each, isSuspicious: index % 2 === 0 }));
        const outcomes = decideOutcomes(records, new Map(), RUN);
        const errors = records.flatMap(({ error }) => error ?? []);
        const after = progressAfter(none, { outcomes, records, errors });
        const { read, written, unchanged, ignored, failed, unnamed } = after;
        expect(written + unchanged + ignored + failed).toBe(read);
        expect(failed + ignored).toBe(errors.length);
        expect(after.suspiciousIds).toBe(some.filter(({ fault }, index) => fault === null && index % 2 === 0).length);
        expect(unnamed).toBe(some.filter(({ key, fault }) => key === null && fault !== null).length);
        const keyless = toRecords([{ knownAs: [] }, { knownAs: ['a'] }]);
        const more = { outcomes: ['failed', 'failed'], records: keyless, errors: [] } as const;
        expect(progressAfter(after, more)).toMatchObject({ unnamed, unidentified: 1, failed: failed + 2 });
      }),
    );
  });

  test('that fail without a key are seen as the known records of their source key, with what those hold', () => {
    const [written, failed] = toRecords([{ key: 'a', says: '1', fault: null }, { knownAs: ['a', 'b'] }]);
    const notes = (records: BatchRecord[], run = RUN) => notesOf(records, decideOutcomes(records, new Map(), run), run);
    const seenAs = (key: string) => ({ key, sourceKey: null });
    expect(notes([failed!])).toMatchObject({ handled: [], seen: [seenAs('a'), seenAs('b')] });
    expect(notes([written!, failed!])).toMatchObject({ handled: [{ key: 'a' }], seen: [seenAs('b')] });
    expect(notes([failed!], { ...RUN, rootId: 3 } as SyncRun)).toMatchObject({ seen: [] });
  });

  test('that several records of the source brought are noted as such', () => {
    const records = toRecords(['1', '2', '1'].map((says) => ({ key: 'a', says, fault: null })));
    const shared = (...sourceKeys: string[]) => {
      const some = records.map((record, index) => ({ ...record, sourceKey: sourceKeys[index]! }));
      return notesOf(some, decideOutcomes(some, new Map(), RUN), RUN).shared;
    };
    expect([shared('7', '7', '7'), shared('7', '8', '7')]).toEqual([[], ['a']]);
  });
});

describe('an old record that is re-driven', () => {
  const redrive = { ...RUN, rootId: 3 } as SyncRun;
  const old: BatchRecord = { ordinal: 1, rootLine: 7, key: 'a', sourceKey: null, checksum: 'old', error: null };

  it.each([
    ['nothing is known of it', new Map(), 'written'],
    [
      'the run in which it failed is the last that knew of it',
      new Map([['a', { checksum: null, runId: 3, isDeleted: false }]]),
      'written',
    ],
    ['a run before that one wrote it', new Map([['a', { checksum: 'older', runId: 2, isDeleted: false }]]), 'written'],
    ['a run since has written it', new Map([['a', { checksum: 'new', runId: 5, isDeleted: false }]]), 'superseded'],
    ['a run since has failed at it', new Map([['a', { checksum: null, runId: 5, isDeleted: false }]]), 'superseded'],
    ['this re-drive wrote it before', new Map([['a', { checksum: 'other', runId: 10, isDeleted: false }]]), 'written'],
  ] as [string, Map<string, KnownRecord>, string][])('where %s: %s', (_, before, outcome) => {
    expect(decideOutcomes([old], before, redrive)).toEqual([outcome]);
  });

  it('leaves no trace where it fails again', () => {
    const failed = { ...old, checksum: null, error: errorAt(1, 'failed') };
    expect(notesOf([failed], ['failed'], redrive)).toEqual({ handled: [], seen: [], deleted: [], shared: [] });
  });
});

test('a record of a destination whose customer id ends with white space fails, and is still told apart by its key', () => {
  const mapping = { customer: { field: 'email', type: 'user_id' }, fields: [], otherFields: 'keep' };
  const destination = { connectionId: 1, stream: 'people', key: ['id'] };
  const sync = { mapping, destination, schemaRule: 'follow', knownFields: null, readFields: null } as unknown as Sync;
  const outgoing = (record: object) => {
    const { key, error } = toOutgoing({ kind: 'record', record } as never, 1, sync, ['id'], new RecordMapper(sync, []));
    return [key, error?.errorType];
  };
  expect(outgoing({ id: 7, email: 'ada ' })).toEqual(['[7]', 'INVALID_CUSTOMER_ID']);
  expect(outgoing({ id: null, email: 'ada' })).toEqual([null, 'INVALID_CUSTOMER_ID']);
  // A batch that was written down says of an erased person's record only that it was there.
  const malformed = (item: object) =>
    toOutgoing({ kind: 'malformed', raw: '', message: 'erased', ...item }, 1, sync, ['id'], new RecordMapper(sync, []))
      .error!;
  expect([malformed({ isErased: true }), malformed({})].map(isOfErased)).toEqual([true, false]);
});
