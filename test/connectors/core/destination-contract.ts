import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AnyConnector,
  secretMembers,
  type SourceRecord,
  type WriteOutcome,
  type Writing,
} from '../../../connectors/core/contract.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { testContext } from './contract.ts';

/** A real destination that the suite may fill. */
export type PreparedDestination = {
  settings: Record<string, unknown>;
  /** The same with a wrong secret; what `check` then says. */
  wrong: { settings: Record<string, unknown>; says: RegExp };
  stream: string;
  /** The fields that name a record. */
  key: string[];
  /** At least three, and no key twice. */
  records: SourceRecord[];
  /** The first of them, with another value. */
  changed: SourceRecord;
  /** One that is not taken, what is then said, and a value of it that must not be. */
  bad: { record: SourceRecord; says: RegExp; quotesNot: string };
  /** All that it holds now. */
  held(): Promise<SourceRecord[]>;
  /** Makes it ask for patience: for how many seconds, null where it names no time. */
  throttle: () => Promise<number | null>;
  stop(): Promise<void>;
};

/** What every destination has to pass. `prepare` makes one that holds nothing. */
export function destinationContract(connector: AnyConnector, prepare: () => Promise<PreparedDestination>): void {
  const destination = connector.destination!;
  const logged: string[] = [];
  const said: string[] = [];
  let made: PreparedDestination;
  let settings: unknown;

  beforeAll(async () => {
    made = await prepare();
    settings = connector.settings.parse(made.settings);
    for (const name of secretMembers(connector.settings)) {
      const value = made.settings[name];
      if (typeof value === 'string') rememberSecret(value);
    }
  });
  afterAll(() => made.stop());

  const context = () => testContext(AbortSignal.timeout(HANGS_MS), logged);
  const write = async (
    batchId: string,
    records: SourceRecord[],
    more: Partial<Writing> = {},
  ): Promise<WriteOutcome[]> => {
    const writing = { stream: made.stream, key: made.key, batchId, records, answered: 0, isRemoval: false, ...more };
    const outcomes = (await Array.fromAsync(destination.write(settings, writing, context()))).flat();
    expect(outcomes).toHaveLength(records.length);
    for (const outcome of outcomes) if (outcome.kind === 'failed') said.push(outcome.message);
    return outcomes;
  };
  const refusalOf = async (work: Promise<unknown>): Promise<Refusal> => {
    const refusal = await work.then(
      () => null,
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(Refusal);
    said.push((refusal as Refusal).message);
    return refusal as Refusal;
  };
  const isDone = ({ kind }: WriteOutcome) => kind !== 'failed';

  describe(`the destination ${connector.name}`, () => {
    it('is reached by the right settings', () =>
      expect(destination.check(settings, context())).resolves.toBeUndefined());

    it('refuses wrong ones, in words that quote no secret', async () => {
      const refusal = await refusalOf(destination.check(connector.settings.parse(made.wrong.settings), context()));
      expect(refusal.message).toMatch(made.wrong.says);
    });

    it('tells what it takes, or takes anything', async () => {
      const streams = await destination.discover(settings, context());
      const fields = streams?.find(({ name }) => name === made.stream)?.fields.map(({ name }) => name);
      expect(streams === null ? [] : Object.keys(made.records[0]!).filter((name) => !fields!.includes(name))).toEqual(
        [],
      );
    });

    it('takes records, and the same ones again without harm', async () => {
      for (const batchId of ['batch-1', 'batch-1', 'batch-2']) {
        expect((await write(batchId, made.records)).every(isDone)).toBe(true);
        expect(setOf(await made.held())).toEqual(setOf(made.records));
        expect(await made.held()).toHaveLength(made.records.length);
      }
    });

    it('brings the outcomes of those that are left, where some were answered before', async () => {
      const answered = made.records.length - 2;
      const writing = {
        stream: made.stream,
        key: made.key,
        batchId: 'batch-2',
        records: made.records,
        answered,
        isRemoval: false,
      };
      const sent: number[] = [];
      const sending = (count: number) => void sent.push(count);
      const outcomes = (await Array.fromAsync(destination.write(settings, { ...writing, sending }, context()))).flat();
      expect(outcomes.map(isDone)).toEqual([true, true]);
      expect([sent[0], sent.at(-1)]).toEqual([answered, made.records.length]);
    });

    it('changes a record by its key', async () => {
      expect(await write('batch-3', [made.changed])).toEqual([{ kind: 'ok' }]);
      expect(setOf(await made.held())).toEqual(setOf([made.changed, ...made.records.slice(1)]));
    });

    it('says of each record what became of it: a bad one fails alone, and is not quoted', async () => {
      const [first, ...others] = made.records;
      const outcomes = await write('batch-4', [...others, made.bad.record, first!]);
      expect(outcomes.map(isDone)).toEqual([...others.map(() => true), false, true]);
      expect(outcomes.at(-2)).toMatchObject({ kind: 'failed', message: expect.stringMatching(made.bad.says) });
      expect(said.join('\n')).not.toContain(made.bad.quotesNot);
      expect(setOf(await made.held())).toEqual(setOf(made.records));
    });

    it('removes records by their key', async () => {
      const gone = made.records
        .slice(0, 2)
        .map((record) => Object.fromEntries(made.key.map((field) => [field, record[field]!])));
      for (const batchId of ['batch-5', 'batch-6']) {
        expect((await write(batchId, gone, { isRemoval: true })).every(isDone)).toBe(true);
        expect(setOf(await made.held())).toEqual(setOf(made.records.slice(2)));
      }
    });

    it('is nothing to do without records', async () => expect(await write('batch-7', [])).toEqual([]));

    it('ends with its signal, and reports that nothing was sent', async () => {
      const stop = AbortSignal.abort(new Error('drained'));
      const sent: number[] = [];
      const sending = (count: number) => void sent.push(count);
      const written = { stream: made.stream, key: made.key, batchId: 'batch-8', records: made.records };
      const writing = { ...written, answered: 0, isRemoval: false, sending };
      await expect(Array.fromAsync(destination.write(settings, writing, testContext(stop, logged)))).rejects.toThrow(
        'drained',
      );
      expect(sent).toEqual([0]);
      expect(setOf(await made.held())).toEqual(setOf(made.records.slice(2)));
    });

    it('passes on for how long it wants to be left alone', async () => {
      const seconds = await made.throttle();
      const expected = {
        status: 'source_unavailable',
        ...(seconds === null ? {} : { extra: { retry_after: seconds } }),
      };
      expect(await refusalOf(destination.check(settings, context()))).toMatchObject(expected);
      expect(await refusalOf(write('batch-9', made.records))).toMatchObject(expected);
    });

    it('names no secret in what it logs or says', () => {
      const kept = [...logged, ...said].join('\n');
      const secrets = secretMembers(connector.settings).flatMap((name) => [
        made.settings[name],
        made.wrong.settings[name],
      ]);
      expect(secrets.filter((value) => typeof value === 'string' && kept.includes(value))).toEqual([]);
    });
  });
}

function setOf(records: SourceRecord[]): Set<string> {
  return new Set(
    records.map((record) => JSON.stringify(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))),
  );
}
