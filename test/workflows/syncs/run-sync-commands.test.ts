import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampleRecords, type SampleSource } from '../../harness/syncs/sample-records.ts';
import { ask, makeSync, runSync } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;

beforeAll(async () => {
  world = await makeWorld(stack.store);
});

const CASES = [
  { kind: 'singer', file: 'sample-tap.ts', stream: 'public-people', cursorField: 'changed_at' },
  { kind: 'airbyte', file: 'sample-airbyte-source.ts', stream: 'public.people', cursorField: null },
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
});
