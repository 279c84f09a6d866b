import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import { findAttributeValues } from '../../../store/attributes/attribute-values.ts';
import {
  ChangesPreparation,
  mergeAttributeValues,
  prepareChanges,
} from '../../../store/attributes/merge-attribute-values.ts';
import { type Tx, write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertImport } from '../../../store/imports/imports.ts';
import { testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

let line = 1;

function change(customerId: string, key: string, value: string | boolean | null): AttributeChange {
  const { id, valueType } = world.attributes[key]!;
  return {
    kind: 'value',
    line: line++,
    attributeId: id,
    valueType: valueType as 'String',
    customerType: 'user_id',
    customerId,
    value,
  };
}

function setChange(
  customerId: string,
  action: 'ADD' | 'REMOVE' | 'DEL' | 'UPSERT',
  ...elements: string[]
): AttributeChange {
  return {
    kind: 'set',
    line: line++,
    attributeId: world.attributes.tags!.id,
    customerType: 'user_id',
    customerId,
    action,
    elements,
  };
}

async function merge(...changes: AttributeChange[]) {
  return write(
    store.db,
    (tx) => mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepareChanges(changes)),
    { collide: true },
  );
}

/** An import of an hour ago that is still to come. */
async function acceptImport() {
  const { id } = await insertImport(store.db, store.secrets, world.entity.id, {
    sorId: world.sor.id,
    version: 3,
    skipEmail: true,
    source: { url: 'https://files.example/values.csv', headers: {} },
  });
  const { rows } = await store.db.query<{ received_at: Date }>(
    `UPDATE imports SET received_at = now() - interval '1 hour' WHERE id = $1 RETURNING received_at`,
    [id],
  );
  return { id, receivedAt: rows[0]!.received_at };
}

async function valuesOf(customerId: string) {
  const values = await findAttributeValues(store.db, world.entity.id, world.sor.id, 'user_id', customerId);
  return Object.fromEntries(
    values.map(({ key, value, elements }) => [key, elements?.map((element) => element.value) ?? value]),
  );
}

describe('the one merge', () => {
  it('keeps every type of value as it came', async () => {
    const who = personId(1);
    const refusals = await merge(
      change(who, 'plan', 'gold\t"\\ ; \u{1F600}'),
      change(who, 'score', '9223372036854775807'),
      change(who, 'vip', false),
      change(who, 'born', '1999-02-28'),
      change(who, 'seen', '2026-01-02T03:04:05.678Z'),
      setChange(who, 'ADD', 'a', 'b'),
    );
    expect(refusals).toEqual([]);
    expect(await valuesOf(who)).toEqual({
      plan: 'gold\t"\\ ; \u{1F600}',
      score: '9223372036854775807',
      vip: false,
      born: '1999-02-28',
      seen: new Date('2026-01-02T03:04:05.678Z'),
      tags: ['a', 'b'],
    });
  });

  it('lets the last row of a batch stand, whatever came before it', async () => {
    const who = personId(2);
    await merge(change(who, 'plan', 'one'), change(who, 'plan', null), change(who, 'plan', 'three'));
    expect(await valuesOf(who)).toEqual({ plan: 'three' });
  });

  it('leaves what its rows leave one after the other, however they come in bits', async () => {
    const row = fc.record({ who: fc.integer({ min: 0, max: 2 }), score: fc.option(fc.integer(), { nil: null }) });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(row, { maxLength: 8 }), { maxLength: 4 }), async (bits) => {
        run += 1;
        const id = (who: number) => personId(10_000 + run * 3 + who);
        const preparation = new ChangesPreparation();
        const expected = new Map<string, string | null>();
        for (const bit of bits) {
          preparation.add(bit.map(({ who, score }) => change(id(who), 'score', score === null ? null : String(score))));
          for (const { who, score } of bit) expected.set(id(who), score === null ? null : String(score));
        }
        const prepared = preparation.prepared(async () => []);
        await write(store.db, (tx) => mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepared));
        for (const [who, score] of expected) expect(await valuesOf(who)).toEqual(score === null ? {} : { score });
      }),
      { numRuns: sampledRuns(40) },
    );
  });

  it('removes a value, and brings it back with a time of its own', async () => {
    const who = personId(3);
    await merge(change(who, 'plan', 'one'));
    await merge(change(who, 'plan', null));
    expect(await valuesOf(who)).toEqual({});
    await merge(change(who, 'plan', 'one'));
    expect(await valuesOf(who)).toEqual({ plan: 'one' });
  });

  it('does not touch a value that stays the same', async () => {
    const who = personId(4);
    const version = async () =>
      (
        await store.db.query(
          'SELECT xmin, changed_at FROM attribute_values WHERE customer_id = $1 ORDER BY attribute_id',
          [who],
        )
      ).rows;
    await merge(change(who, 'score', '1.0'), setChange(who, 'ADD', 'a'));
    const before = await version();
    await merge(change(who, 'score', '1.00'), setChange(who, 'ADD', 'a'), setChange(who, 'REMOVE', 'b'));
    expect(await version()).toEqual(before);
  });

  it('lets the value that was accepted last stand, whatever commits last', async () => {
    const { id: earlierImport, receivedAt } = await acceptImport();
    const later = new Date(receivedAt.getTime() + 1_000);
    const stand = { first: 'same', second: null, third: 'gold' } as const;
    const people = Object.fromEntries(Object.keys(stand).map((name, index) => [name, personId(20 + index)]));
    const say = (at: Date, told: Record<string, string | null>) =>
      write(store.db, (tx) =>
        mergeAttributeValues(
          tx,
          store.secrets,
          world.entity.id,
          world.sor.id,
          prepareChanges(Object.entries(told).map(([name, plan]) => change(people[name]!, 'plan', plan))),
          { said: { at } },
        ),
      );
    await say(new Date(receivedAt.getTime() - 1_000), { first: 'same', third: 'old' });
    // One says again what stands, one removes what is not there, one changes a value: the earlier import comes after
    // all of them.
    await say(later, stand);
    await say(receivedAt, { first: 'earlier', second: 'earlier', third: 'earlier' });
    expect(await Promise.all(Object.values(people).map(valuesOf))).toEqual([{ plan: 'same' }, {}, { plan: 'gold' }]);
    await store.db.query(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [earlierImport]);
    await say(new Date(later.getTime() + 1_000), { first: 'last', second: 'last', third: null });
    expect(await Promise.all(Object.values(people).map(valuesOf))).toEqual([{ plan: 'last' }, { plan: 'last' }, {}]);
  });

  it('goes by the time of each value where several were said at different times', async () => {
    const [one, other] = [personId(30), personId(31)];
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    const told = (who: string, plan: string, second: number) =>
      ({ ...change(who, 'plan', plan), saidAt: at(second) }) as AttributeChange;
    await merge(told(one, 'second', 2), told(other, 'fourth', 4));
    await merge(told(one, 'third', 3), told(other, 'third', 3));
    expect([await valuesOf(one), await valuesOf(other)]).toEqual([{ plan: 'third' }, { plan: 'fourth' }]);
  });

  it('is not held up by a time that a clock ahead has left', async () => {
    const who = personId(32);
    await merge({ ...change(who, 'plan', 'ahead'), saidAt: new Date(Date.now() + 86_400_000) } as AttributeChange);
    await merge(change(who, 'plan', 'now'));
    expect(await valuesOf(who)).toEqual({ plan: 'now' });
  });

  it('refuses the ADD for which a stored Set has no room, and only that one', async () => {
    const who = personId(5);
    const thousand = Array.from({ length: 1000 }, (_, number) => `e${number}`);
    await merge(setChange(who, 'ADD', ...thousand));
    const tooMany = setChange(who, 'ADD', 'one more');
    const refusals = await merge(tooMany, setChange(who, 'REMOVE', 'e0'), setChange(who, 'ADD', 'instead'));
    expect(refusals).toMatchObject([{ line: tooMany.line, errorType: 'TOO_LONG_SET_SIZE' }]);
    expect((await valuesOf(who)).tags).toHaveLength(1000);
    expect((await valuesOf(who)).tags).toContain('instead');
  });

  it('reads many full Sets by portions', async () => {
    const elements = Array.from({ length: 1000 }, (_, number) => `e${number}`);
    const people = Array.from({ length: 120 }, (_, number) => personId(1000 + number));
    await merge(...people.map((who) => setChange(who, 'ADD', ...elements)));
    await merge(...people.map((who) => setChange(who, 'REMOVE', 'e0', 'e999')));
    for (const who of people) expect((await valuesOf(who)).tags).toHaveLength(998);
  });

  it('brings nobody back who was erased', async () => {
    const [erased, living] = [personId(6), personId(7)];
    const hash = store.secrets.customerHash(world.entity.id, 'user_id', erased);
    await insertTombstone(store.db, world.entity.id, hash);
    const refused = change(erased, 'plan', 'gold');
    const refusedSet = setChange(erased, 'ADD', 'a');
    const refusals = await merge(refused, change(living, 'plan', 'gold'), refusedSet);
    expect(refusals).toEqual(
      [refused, refusedSet].map(({ line: place, attributeId }) => ({ line: place, attributeId, erasedHash: hash })),
    );
    expect(await valuesOf(erased)).toEqual({});
    expect(await valuesOf(living)).toEqual({ plan: 'gold' });
  });

  it('looks values up by their key, whatever the planner takes the table for', async () => {
    await store.db.query('DELETE FROM attribute_values');
    await vacuum(store.db, 'attribute_values'); // the table is known to be empty: a scan of it seems free
    const changes = [
      change(personId(8), 'plan', 'gold'),
      change(personId(8), 'score', '1'),
      setChange(personId(8), 'ADD', 'a'),
    ];
    const scans = async (tx: Tx) => {
      const { rows } = await tx.query<{ scans: number }>(
        `SELECT seq_scan AS scans FROM pg_stat_xact_user_tables WHERE relname = 'attribute_values'`,
      );
      return rows[0]!.scans;
    };
    await write(store.db, async (tx) => {
      const before = await scans(tx);
      await mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepareChanges(changes));
      expect(await scans(tx)).toBe(before);
    });
  });

  it('takes merges of the same new keys at once', async () => {
    const people = Array.from({ length: 300 }, (_, number) => personId(2000 + number));
    const rounds = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(
      rounds.map((tag) =>
        merge(
          ...people
            .toSorted(() => Math.random() - 0.5)
            .flatMap((who) => [change(who, 'plan', tag), setChange(who, 'ADD', tag)]),
        ),
      ),
    );
    for (const who of people) {
      const { plan, tags } = await valuesOf(who);
      expect(rounds).toContain(plan);
      expect((tags as string[]).toSorted()).toEqual(rounds);
    }
  });
});
