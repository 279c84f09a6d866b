import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * A Singer tap, run as a program: it reads the records of `folder`/records.jsonl, which are in the order of
 * `changed_at`, and wants a token. What lies in `folder`/spoil it prints in their midst. By `folder`/said.json it tells
 * of another schema while it reads, and gives each record more fields; in `folder`/discoveries there is a dot for each
 * time that it was asked to discover. Where `folder`/deletions stands, a record may say when it was deleted.
 */

type Mark = { breadcrumb: string[]; metadata: Record<string, unknown> };
type Catalog = { streams: { stream: string; metadata: Mark[] }[] };
type Row = { id: number; changed_at: string };
type Said = { schema: object; more: object };

const { values } = parseArgs({
  options: {
    config: { type: 'string' },
    catalog: { type: 'string' },
    properties: { type: 'string' },
    state: { type: 'string' },
    discover: { type: 'boolean' },
  },
});
const config = readJson(values.config!) as { folder: string; token: string };

const marks = existsSync(join(config.folder, 'deletions'));
const SCHEMA = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: ['null', 'string'] },
    changed_at: { type: 'string', format: 'date-time' },
    ...(marks ? { _sdc_deleted_at: { type: ['null', 'string'], format: 'date-time' } } : {}),
  },
};

if (readFileSync(join(config.folder, 'token'), 'utf8') !== config.token) {
  process.stderr.write(
    `INFO reading ${config.folder}\nCRITICAL the token ${config.token} is wrong\n(look at https://example.com/)\n`,
  );
  process.exitCode = 1;
} else if (values.discover) {
  appendFileSync(join(config.folder, 'discoveries'), '.');
  process.stdout.write(JSON.stringify({ streams: [entry('people', ['changed_at']), entry('pets', [])] }, null, 2));
} else {
  sync(
    readJson(values.catalog ?? values.properties!) as Catalog,
    values.state ? (readJson(values.state) as { since: string }) : null,
  );
}

function entry(stream: string, keys: string[]): unknown {
  const forced = keys.length === 0 ? { 'forced-replication-method': 'FULL_TABLE' } : {};
  const metadata = { 'table-key-properties': ['id'], 'valid-replication-keys': keys, ...forced };
  return { tap_stream_id: `public-${stream}`, stream, schema: SCHEMA, metadata: [{ breadcrumb: [], metadata }] };
}

function sync({ streams }: Catalog, state: { since: string } | null): void {
  const isChosen = (mark: Mark) => mark.breadcrumb.length === 0 && mark.metadata['selected'] === true;
  const chosen = streams.filter(({ metadata }) => metadata.some(isChosen));
  if (chosen.length !== 1 || chosen[0]!.stream !== 'people') throw new Error('not the one stream is selected');
  process.stderr.write(`INFO with the token ${config.token}\n`);
  const lines = readFileSync(join(config.folder, 'records.jsonl'), 'utf8').split('\n').filter(Boolean);
  const rows = lines.map((line) => JSON.parse(line) as Row);
  const path = join(config.folder, 'said.json');
  const { schema, more } = existsSync(path) ? (readJson(path) as Said) : { schema: SCHEMA, more: {} };
  say({ type: 'SCHEMA', stream: 'people', schema, key_properties: ['id'] });
  const since = state?.since ?? '';
  for (const [nth, row] of rows.filter(({ changed_at: at }) => at >= since).entries()) {
    say({ type: 'RECORD', stream: 'people', record: { ...row, ...more } });
    if (nth % 1_000 === 999) say({ type: 'STATE', value: { since: row.changed_at } });
    if (nth % 1_000 === 500) say({ type: 'RECORD', stream: 'pets', record: { id: nth } });
    if (nth === 700 && existsSync(join(config.folder, 'spoil')))
      process.stdout.write(readFileSync(join(config.folder, 'spoil')));
  }
  if (rows.length > 0) say({ type: 'STATE', value: { since: rows.at(-1)!.changed_at } });
  say({ type: 'ACTIVATE_VERSION', stream: 'people', version: 1 });
}

function say(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
