import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * An Airbyte source, run as a program: it reads the records of `folder`/records.jsonl, which are in the order of
 * `changed_at`, and wants a token. What lies in `folder`/spoil it prints in their midst; where `folder`/busy lies, it
 * says for how many seconds it can't be asked.
 */

type Row = { id: number; changed_at: string };
type StateMessage = { stream: { stream_state: { since: string } } };

const {
  values,
  positionals: [verb],
} = parseArgs({
  options: { config: { type: 'string' }, catalog: { type: 'string' }, state: { type: 'string' } },
  allowPositionals: true,
});

const STREAM = {
  name: 'people',
  namespace: 'public',
  json_schema: {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      name: { type: ['null', 'string'] },
      changed_at: { type: 'string', format: 'date-time', airbyte_type: 'timestamp_with_timezone' },
    },
  },
  supported_sync_modes: ['full_refresh', 'incremental'],
  source_defined_primary_key: [['id']],
  is_resumable: true,
};
const DELETED_AT = { _ab_cdc_deleted_at: { type: ['null', 'string'], format: 'date-time' } };
const DESCRIPTOR = { name: STREAM.name, namespace: STREAM.namespace };

if (verb === 'spec') {
  say({
    type: 'SPEC',
    spec: { connectionSpecification: { type: 'object', required: ['folder', 'token'], properties: {} } },
  });
} else {
  answer(readJson(values.config!) as { folder: string; token: string });
}

function answer({ folder, token }: { folder: string; token: string }): void {
  say({ type: 'LOG', log: { level: 'INFO', message: `with the token ${token}` } });
  const busy = join(folder, 'busy');
  if (existsSync(busy)) return giveUp(readFileSync(busy, 'utf8'));
  const isRight = readFileSync(join(folder, 'token'), 'utf8') === token;
  if (verb === 'check') {
    const status = isRight ? { status: 'SUCCEEDED' } : { status: 'FAILED', message: `the token ${token} is wrong` };
    say({ type: 'CONNECTION_STATUS', connectionStatus: status });
  } else if (verb === 'discover') {
    const { properties, ...schema } = STREAM.json_schema;
    const marks = existsSync(join(folder, 'deletions')) ? DELETED_AT : {};
    const stream = { ...STREAM, json_schema: { ...schema, properties: { ...properties, ...marks } } };
    say({ type: 'CATALOG', catalog: { streams: [{ ...stream, name: 'pets' }, stream] } });
  } else {
    read(folder);
  }
}

function giveUp(seconds: string): void {
  const reset = Date.now() + Number(seconds) * 1_000;
  const reasons = [{ type: 'RATE_LIMITED', rate_limited: { quota_reset: reset } }];
  trace({ type: 'STREAM_STATUS', stream_status: { stream_descriptor: DESCRIPTOR, status: 'RUNNING', reasons } });
  trace({
    type: 'ERROR',
    error: { message: 'Rate limited', stack_trace: 'Traceback', failure_type: 'transient_error' },
  });
  process.exitCode = 1;
}

function read(folder: string): void {
  const { streams } = readJson(values.catalog!) as { streams: { stream: { name: string } }[] };
  if (streams.length !== 1 || streams[0]!.stream.name !== STREAM.name)
    throw new Error('not the one stream is selected');
  const state = values.state ? (readJson(values.state) as StateMessage[]) : [];
  const since = state[0]?.stream.stream_state.since ?? '';
  const rows = readFileSync(join(folder, 'records.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);
  process.stdout.write('a library greets\n');
  for (const [nth, row] of rows.filter(({ changed_at: at }) => at >= since).entries()) {
    say({ type: 'RECORD', record: { ...DESCRIPTOR, stream: STREAM.name, data: row, emitted_at: 0 } });
    if (nth % 1_000 === 999) passed(row);
    if (nth === 700 && existsSync(join(folder, 'spoil'))) process.stdout.write(readFileSync(join(folder, 'spoil')));
  }
  if (rows.length > 0) passed(rows.at(-1)!);
  trace({ type: 'STREAM_STATUS', stream_status: { stream_descriptor: DESCRIPTOR, status: 'COMPLETE' } });
}

function passed({ changed_at: since }: Row): void {
  const stream = { stream_descriptor: DESCRIPTOR, stream_state: { since } };
  say({ type: 'STATE', state: { type: 'STREAM', stream, sourceStats: { recordCount: 1 } } });
}

function trace(value: unknown): void {
  say({ type: 'TRACE', trace: { emitted_at: 0, ...(value as object) } });
}

function say(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
