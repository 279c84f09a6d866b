import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampleRecords, type SampleSource } from '../../harness/syncs/sample-records.ts';
import { ask, makeSync, runSync } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
const web = await httpSource();
const WEBHOOK_SECRET = 'zqwebhooksecret-deletions';
rememberSecret(WEBHOOK_SECRET);
let world: World;

beforeAll(async () => {
  world = await makeWorld(stack.store);
});

const CASES = [
  {
    kind: 'singer',
    file: 'sample-tap.ts',
    stream: 'public-people',
    cursorField: 'changed_at',
    deletedAt: '_sdc_deleted_at',
  },
  {
    kind: 'airbyte',
    file: 'sample-airbyte-source.ts',
    stream: 'public.people',
    cursorField: null,
    deletedAt: '_ab_cdc_deleted_at',
  },
] as const;

async function syncOf(
  { kind, file, stream, cursorField }: (typeof CASES)[number],
  more: object = {},
): Promise<{ source: SampleSource; sync: string }> {
  const source = await sampleRecords(kind, file, stream);
  onFileEnd(() => source.stop!());
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: `${kind} ${source.folder}`,
    connector: kind,
    settings: source.settings,
  });
  const sync = await makeSync(stack, world, {
    source: { connection, stream },
    destination: { sor: world.sor.identifier },
    mode: 'incremental',
    ...(cursorField === null ? {} : { cursor_field: cursorField }),
    mapping: {
      customer: { field: 'id', type: 'device_id' },
      fields: [
        { from: 'name', to: 'plan' },
        { from: 'changed_at', to: 'seen' },
      ],
    },
    ...more,
  });
  return { source, sync };
}

describe("a sync of what a command of the operator's brings", () => {
  it.for(CASES)('writes all of it, and then what is new: $kind', async (asked) => {
    const { source, sync } = await syncOf(asked);
    const worker = stack.startWorker({ commands: [...source.commands!] });
    const first = await runSync(stack, world, sync);
    const count = source.records.length;
    expect(first).toMatchObject({ state: 'finished', progress: { read: count, written: count, failed: 0 } });
    const path = `/api/syncs/${sync}/runs/${first.identifier}/log`;
    const { lines } = await ask<{ lines: { line: string }[] }>(stack.app, world, 'GET', path);
    expect(lines.map(({ line }) => line).join('\n')).toMatch(/the token \*\*\*/);
    const changed = await source.change();
    const second = await runSync(stack, world, sync);
    expect(second.state).toBe('finished');
    expect(second.progress.written).toBe(changed.length);
    expect(second.progress.read).toBeLessThan(count / 2);
    const values = (await importedValues(stack, world)) as {
      customer_id: string;
      key: string;
      string_value: string | null;
    }[];
    const plans = new Map(
      values.filter(({ key }) => key === 'plan').map((value) => [value.customer_id, value.string_value]),
    );
    expect(changed.map(({ id }) => plans.get(String(id as number)) ?? null)).toEqual(changed.map(({ name }) => name));
    await worker.stop();
  });

  it('fails where the operator has taken the command away, and says where it should stand', async () => {
    const { sync } = await syncOf(CASES[0]);
    const worker = stack.startWorker();
    const { state, failure } = await runSync(stack, world, sync);
    expect({ state, status: failure?.status }).toEqual({ state: 'failed', status: 'source_refused' });
    expect(failure!.message).toContain('MILLRACE_TAPS');
    await worker.stop();
  });

  it('stops when what a tap tells of its fields while it is read changes, not when that differs from what it told before', async () => {
    const { source, sync } = await syncOf(CASES[0], {
      on_schema_change: 'stop',
      mode: 'full',
      cursor_field: undefined,
      mapping: { customer: { field: 'id', type: 'device_id' }, other_fields: 'keep' },
    });
    const worker = stack.startWorker({ commands: [...source.commands!] });
    await rm(join(source.folder, 'deletions'));
    const types = { id: { type: ['integer', 'string'] }, name: { type: 'string' }, changed_at: { type: 'string' } };
    const say = (more: Record<string, unknown>) => {
      const schema = {
        properties: { ...types, ...Object.fromEntries(Object.keys(more).map((name) => [name, { type: 'integer' }])) },
      };
      return writeFile(join(source.folder, 'said.json'), JSON.stringify({ schema, more }));
    };
    const count = 300;
    const lines = source.records.slice(0, count).map((record) => JSON.stringify(record));
    await writeFile(join(source.folder, 'records.jsonl'), lines.join('\n'));
    await say({ score: 7 });
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      schemaChange: null,
      progress: { written: count },
    });
    expect(await readFile(join(source.folder, 'discoveries'), 'utf8')).toBe('.');
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      schemaChange: null,
      progress: { unchanged: count },
    });
    const values = (await importedValues(stack, world)) as { key: string; number_value: string | null }[];
    const scores = values.filter(({ key }) => key === 'score');
    expect(new Set(scores.map(({ number_value: value }) => Number(value)))).toEqual(new Set([7]));
    expect(scores).toHaveLength(count);
    await say({ score: 8, vip: true });
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'failed',
      failure: { status: 'schema_changed', message: expect.stringContaining('new: vip (integer).') as string },
      schemaChange: { added: [{ name: 'vip', type: 'integer' }], removed: [], retyped: [] },
      progress: { read: 0 },
    });
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/accept_schema`);
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      schemaChange: null,
      progress: { written: count },
    });
    const { fields } = await ask<{ fields: { name: string }[] }>(stack.app, world, 'GET', `/api/syncs/${sync}`);
    expect(fields.map(({ name }) => name)).toEqual(['id', 'name', 'changed_at', 'score', 'vip']);
    await worker.stop();
  });

  describe.each(CASES)('that says which records were deleted: $kind', (asked) => {
    const { kind, stream, cursorField, deletedAt } = asked;
    const nameOf = (id: number) => `${kind}-${id}`;
    let minute = 0;
    const row = (id: number, more: object = {}) => {
      minute += 1;
      return { id, name: nameOf(id), changed_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(), ...more };
    };
    /** As a log of changes tells it: only the key is still known. */
    const deletion = (id: number, more: object = {}) =>
      row(id, { name: null, [deletedAt]: '2026-01-02T00:00:00Z', ...more });
    const values = async () =>
      new Map(
        ((await importedValues(stack, world)) as { customer_id: string; key: string; removed: boolean }[])
          .filter(({ key, removed, customer_id: id }) => key === 'seen' && !removed && id.startsWith(`${kind}-`))
          .map((value) => [value.customer_id, value]),
      );

    it('removes them at the end of a run, unless they are too many', async () => {
      const { source, sync } = await syncOf(asked, {
        removes: true,
        removal_limit: 20,
        mapping: { customer: { field: 'name' }, fields: [{ from: 'changed_at', to: 'seen' }] },
      });
      const received: { removal: boolean; records: object[] }[] = [];
      const url = web.serve(`/${kind}`, (request, response) => {
        void json(request).then((body) => {
          received.push(body as (typeof received)[number]);
          const outcomes = (body as (typeof received)[number]).records.map(() => ({ ok: true }));
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outcomes }));
        });
      });
      const { source: connected } = await ask<{ source: { connection: string } }>(
        stack.app,
        world,
        'GET',
        `/api/syncs/${sync}`,
      );
      const { identifier: webhook } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
        name: `Webhook of ${kind}`,
        connector: 'webhook',
        settings: { url, secret: WEBHOOK_SECRET },
      });
      const others = {
        source: { connection: connected.connection, stream },
        mode: 'incremental',
        ...(cursorField === null ? {} : { cursor_field: cursorField }),
        mapping: { customer: { field: 'name' }, fields: [{ from: 'name' }] },
      };
      const sent = await makeSync(stack, world, {
        ...others,
        destination: { connection: webhook, stream: 'people', key: ['name'] },
        removes: true,
      });
      const kept = await makeSync(stack, world, {
        ...others,
        destination: { sor: world.sor.identifier },
        mapping: { customer: { field: 'id', type: 'device_id' }, fields: [{ from: 'name', to: 'plan' }] },
      });
      const worker = stack.startWorker({ commands: [...source.commands!] });
      const bring = (rows: object[]) =>
        writeFile(join(source.folder, 'records.jsonl'), rows.map((each) => JSON.stringify(each)).join('\n'));
      const first = Array.from({ length: 40 }, (_, id) => row(id));
      await bring(first);
      for (const each of [sync, sent, kept])
        expect(await runSync(stack, world, each)).toMatchObject({ progress: { read: 40, written: 40 }, removed: 0 });

      // The last one comes again, since readings begin where the last ended; 3 was made anew; 99 was never there.
      const late = row(50);
      const deleted = [
        deletion(1),
        deletion(2, { name: nameOf(2) }),
        late,
        deletion(50),
        deletion(3),
        row(3),
        deletion(99),
      ];
      await bring([...first, ...deleted]);
      const dry = await runSync(stack, world, sync, { records: 100 }, 'dry_run');
      expect(dry).toMatchObject({ removed: 0, progress: { written: 6 } });
      expect(dry.sample).toContainEqual({
        line: 2,
        outcome: 'written',
        customer_id: nameOf(1),
        message: 'the source has deleted it: a run removes it here, too',
      });
      expect(await runSync(stack, world, sync)).toMatchObject({
        progress: { read: 8, written: 6, unchanged: 2, ignored: 0, failed: 0 },
        removed: 3,
        removal: { state: 'done', reason: null },
      });
      const there = new Set((await values()).keys());
      expect([1, 2, 3, 50].map((id) => there.has(nameOf(id)))).toEqual([false, false, true, false]);
      expect(await runSync(stack, world, sent)).toMatchObject({ progress: { read: 8, failed: 0 }, removed: 3 });
      const gone = received.filter(({ removal }) => removal).flatMap(({ records }) => records);
      expect(gone).toEqual([1, 2, 50].map((id) => ({ name: nameOf(id) })));
      const run = await runSync(stack, world, kept);
      expect(run).toMatchObject({
        progress: { read: 8, ignored: 5, deletionsIgnored: 5, failed: 0 },
        removed: 0,
        removal: null,
      });
      expect(await ask<object>(stack.app, world, 'GET', `/api/syncs/${kept}/runs/${run.identifier}`)).toMatchObject({
        deletions_ignored: 5,
        open: 0,
        errors_by_type: {},
      });

      await bring([...first, ...deleted, ...Array.from({ length: 10 }, (_, nth) => deletion(10 + nth))]);
      const held = {
        state: 'held',
        reason: '10 of 38 records have vanished, over 20 %: run it with confirm_removals if that is right',
      };
      expect(await runSync(stack, world, sync)).toMatchObject({ removed: 0, removal: held, alert: 'held' });
      expect((await values()).size).toBe(38);
      // They wait until somebody says so, though no run reads them again, and one mail is enough.
      expect(await runSync(stack, world, sync)).toMatchObject({ removed: 0, removal: held, alert: null });
      expect(await runSync(stack, world, sync, { confirm_removals: true })).toMatchObject({
        removed: 10,
        removal: { state: 'done' },
      });
      expect((await values()).size).toBe(28);
      await worker.stop();
    });
  });
});
