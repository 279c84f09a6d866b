import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Commands } from '../../../connectors/commands/commands-file.ts';
import {
  type AnyConnector,
  BATCH_BYTES,
  BATCH_ITEMS,
  type Batch,
  type ConnectorContext,
  type Cursor,
  type Reading,
  secretMembers,
  type SourceRecord,
  type Stream,
} from '../../../connectors/core/contract.ts';
import { readFetchAllow, type FetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';

/** A real source that the suite may read and change. */
export type PreparedSource = {
  settings: Record<string, unknown>;
  /** The same with a wrong secret, or another's; what `check` then says. */
  wrong: { settings: Record<string, unknown>; says: RegExp };
  stream: string;
  /** Null where the source keeps its own state. */
  cursorField: string | null;
  /** More than two batches of them. */
  records: SourceRecord[];
  /** Changes some records and adds others; those are what an incremental reading brings next. */
  change(): Promise<SourceRecord[]>;
  /** Deletes a record, and returns it as it was read: what a source that reports deletions brings next. */
  remove?: () => Promise<SourceRecord>;
  /** Adds records whose cursor value is NaN, infinite or far ahead; `more` adds one with a good value. */
  lead?: () => Promise<{ odd: SourceRecord[]; more(): Promise<SourceRecord> }>;
  /** Breaks a record, or adds a broken one: what `malformed` then says. */
  spoil?: () => Promise<RegExp>;
  /** Makes the source ask for patience: for how many seconds, null where it names no time. */
  throttle?: () => Promise<number | null>;
  /** What the operator allows to be run, for a connector that runs commands. */
  commands?: Commands;
  stop?: () => Promise<void>;
};

/**
 * Features that a source may lack: records that can be malformed, an answer that asks for patience, how much there is
 * to read, deletions in its streams though its connector reports them, or a cursor that is the value of a field.
 */
type Without = 'malformed records' | 'throttling' | 'progress' | 'deletions' | 'cursor field';

/** What every source has to pass. `prepare` makes one with `records` in it. */
export function sourceContract(
  connector: AnyConnector,
  prepare: () => Promise<PreparedSource>,
  without: readonly Without[] = [],
): void {
  const source = connector.source!;
  const unlessWithout = (feature: Without) => (without.includes(feature) ? [] : [feature]);
  const logged: string[] = [];
  const said: string[] = [];
  let made: PreparedSource;
  let settings: unknown;
  /** By mode and cursor, all since the source last changed: the same reading once more would show nothing new. */
  const readings = new Map<string, Promise<Batch[]>>();
  let discovered: Promise<{ known: ConnectorContext; streams: Stream[] }> | undefined;
  let hasRead = false;
  let changedTo: Cursor | null;

  beforeAll(async () => {
    made = await prepare();
    settings = connector.settings.parse(made.settings);
    for (const text of secretsOf(connector, made)) rememberSecret(text);
  });
  afterAll(() => made.stop?.());

  const inTime = () => AbortSignal.timeout(HANGS_MS);
  const context = (): ConnectorContext => testContext(inTime(), logged, made.commands);
  const discover = () =>
    (discovered ??= (async () => {
      const known = context();
      return { known, streams: await source.discover(settings, known) };
    })());
  const reading = (mode: Reading['mode'], cursor: Cursor | null): Reading => ({
    stream: made.stream,
    mode,
    cursorField: mode === 'full' ? null : made.cursorField,
    cursor,
    fields: null,
  });
  const read = (mode: Reading['mode'], cursor: Cursor | null = null): Promise<Batch[]> => {
    const key = JSON.stringify([mode, cursor]);
    if (!readings.has(key)) readings.set(key, readAnew(mode, cursor));
    return readings.get(key)!;
  };
  /**
   * The first asks for the streams itself, as a run that goes on does; the others know what `discover` has told, as one
   * that begins.
   */
  const readAnew = async (mode: Reading['mode'], cursor: Cursor | null): Promise<Batch[]> => {
    const known = hasRead ? (await discover()).known : context();
    hasRead = true;
    const batches = await Array.fromAsync(
      source.read(settings, reading(mode, cursor), Object.assign(known, { signal: inTime() })),
    );
    for (const { items, bytes, cursor: after } of batches) {
      said.push(JSON.stringify(after));
      expect(items.length).toBeLessThanOrEqual(BATCH_ITEMS);
      expect(bytes).toBeLessThanOrEqual(BATCH_BYTES * 1.5);
    }
    return batches;
  };

  describe(`the source ${connector.name}`, () => {
    it('is reached by the right settings', () => expect(source.check(settings, context())).resolves.toBeUndefined());

    it('refuses wrong ones, in words that quote no secret', async () => {
      const wrong = connector.settings.parse(made.wrong.settings);
      const refusal = await source.check(wrong, context()).then(
        () => null,
        (error: unknown) => error as Refusal,
      );
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal!.message).toMatch(made.wrong.says);
      said.push(refusal!.message);
    });

    it('tells its streams with their fields', async () => {
      const { streams } = await discover();
      const stream = streams.find(({ name }) => name === made.stream)!;
      const fields = new Set(stream.fields.map(({ name }) => name));
      expect(Object.keys(made.records[0]!).filter((name) => !fields.has(name))).toEqual([]);
      if (made.cursorField !== null)
        expect(stream.incremental).toEqual({ fields: expect.arrayContaining([made.cursorField]) });
      else if (stream.incremental !== 'own') expect(stream.incremental).toEqual({ fields: [] });
    });

    it('is read in full, in bounded batches', async () => {
      const batches = await read('full');
      expect(batches.length).toBeGreaterThan(2);
      expect(setOf(recordsOf(batches))).toEqual(setOf(made.records));
    });

    it('is read in full by some of its fields, which come with every record', async () => {
      const [field] = Object.keys(made.records[0]!).toReversed();
      const some = { ...reading('full', null), fields: [field!] };
      const batches = await Array.fromAsync(source.read(settings, some, context()));
      const values = (records: readonly SourceRecord[]) =>
        records.map((record) => JSON.stringify(record[field!] ?? null)).toSorted();
      expect(values(recordsOf(batches))).toEqual(values(made.records));
    });

    it.for(unlessWithout('progress'))('tells its %s with each batch, from 0 to 1', async () => {
      const shares = (await read('full')).map(({ done }) => done ?? -1);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect(shares[0]).toBeGreaterThan(0);
      expect(shares.at(-1)).toBeGreaterThan(shares[0]!);
      expect(shares.at(-1)).toBeLessThanOrEqual(1);
    });

    it.for(['full', 'incremental'] as const)('is read on after each batch, and nothing is lost: %s', async (mode) => {
      const batches = await read(mode);
      expect(setOf(recordsOf(batches))).toEqual(setOf(made.records));
      for (let done = 1; done <= batches.length; done += 1) {
        const { cursor } = batches[done - 1]!;
        const isOver = done === batches.length && mode === 'full';
        const before = recordsOf(cursor === null && !isOver ? [] : batches.slice(0, done));
        const after = recordsOf(isOver ? [] : await read(mode, cursor));
        expect(setOf([...before, ...after])).toEqual(setOf(made.records));
      }
    });

    it('brings what is new or changed, and not all that is not, to an incremental reading', async () => {
      const before = (await read('incremental')).at(-1)!.cursor;
      const changed = await made.change();
      readings.clear();
      const batches = await read('incremental', before);
      changedTo = batches.at(-1)!.cursor;
      const after = recordsOf(batches);
      expect([...setOf(changed)].filter((record) => !setOf(after).has(record))).toEqual([]);
      expect(after.length).toBeLessThan(made.records.length / 2);
    });

    it.for(unlessWithout('cursor field'))('brings odd values of its %s in each reading, and what is new', async () => {
      const { odd, more } = await made.lead!();
      readings.clear();
      const first = await read('incremental', changedTo);
      const sum = (batches: Batch[]) => batches.reduce((count, { oddCursors = 0 }) => count + oddCursors, 0);
      expect([...setOf(odd)].filter((record) => !setOf(recordsOf(first)).has(record))).toEqual([]);
      expect(sum(first)).toBe(odd.length);
      const added = await more();
      readings.clear();
      const next = await read('incremental', first.at(-1)!.cursor);
      expect([...setOf([...odd, added])].filter((record) => !setOf(recordsOf(next)).has(record))).toEqual([]);
      expect(recordsOf(next).length).toBeLessThan(made.records.length / 2);
      expect(sum(next)).toBe(odd.length);
      expect(logged.filter((line) => line.startsWith(`${odd.length} record`))).toHaveLength(2);
    });

    it.for(source.reportsDeletions ? unlessWithout('deletions') : [])(
      'brings %s by the keys that it gave with records',
      async () => {
        const named = (await read('full')).flatMap(({ items }) => items);
        const removed = [...setOf([await made.remove!()])][0]!;
        readings.clear();
        const items = (await read('incremental', changedTo)).flatMap((batch) => batch.items);
        const [deletion, ...others] = items.filter(({ kind }) => kind === 'deleted');
        expect(others).toEqual([]);
        const one = named.find((item) => item.kind === 'record' && setOf([item.record]).has(removed));
        expect(deletion).toMatchObject({ key: expect.stringMatching(/./) as string });
        expect(one).toMatchObject({ kind: 'record', key: (deletion as { key: string }).key });
      },
    );

    it.for(unlessWithout('malformed records'))('tells of %s, and brings the others', async () => {
      const says = await made.spoil!();
      readings.clear();
      const items = (await read('full')).flatMap((batch) => batch.items);
      const malformed = items.filter((item) => item.kind === 'malformed');
      expect(malformed.map(({ message }) => message)).toEqual([expect.stringMatching(says)]);
      expect(items.length).toBeGreaterThanOrEqual(made.records.length);
    });

    it.for(unlessWithout('throttling'))('passes on for how long it wants to be left alone: %s', async () => {
      const seconds = await made.throttle!();
      const refusal = await source.check(settings, context()).then(
        () => null,
        (error: unknown) => error as Refusal,
      );
      expect(refusal).toMatchObject({
        status: 'source_unavailable',
        ...(seconds === null ? {} : { extra: { retry_after: seconds } }),
      });
      said.push(refusal!.message);
    });

    it('names no secret in what it logs, says or keeps as its cursor', () => {
      const kept = [...logged, ...said].join('\n');
      const secrets = secretsOf(connector, made);
      expect(secrets).not.toEqual([]);
      expect(secrets.filter((text) => kept.includes(text))).toEqual([]);
    });
  });
}

/** What a connector gets under test: this machine may be reached. */
export function testContext(
  signal: AbortSignal,
  logged: string[] = [],
  commands: Commands = new Map(),
): ConnectorContext {
  const allow = readFetchAllow('127.0.0.1') as FetchAllow;
  const scratch = mkdtempSync(join(tmpdir(), 'millrace-scratch-'));
  onFileEnd(() => rm(scratch, { recursive: true }));
  return { fetch: guardedFetch(allow), allow, commands, scratch, signal, log: (line) => logged.push(line) };
}

/**
 * The texts in the secret members that tell the right settings from the wrong ones: others, as a table's name, are no
 * secret.
 */
function secretsOf(connector: AnyConnector, { settings, wrong }: PreparedSource): string[] {
  const textsOf = (given: Record<string, unknown>) =>
    secretMembers(connector.settings).flatMap((name) => textsIn(given[name]));
  const [right, other] = [textsOf(settings), textsOf(wrong.settings)];
  return [...right.filter((text) => !other.includes(text)), ...other.filter((text) => !right.includes(text))];
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function recordsOf(batches: Batch[]): SourceRecord[] {
  return batches.flatMap(({ items }) => items.flatMap((item) => (item.kind === 'record' ? [item.record] : [])));
}

function setOf(records: SourceRecord[]): Set<string> {
  return new Set(
    records.map((record) => JSON.stringify(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))),
  );
}
