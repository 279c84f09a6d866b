import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * A Singer tap, run as a program, that says what a source may say of people: its state is an id, and it logs whom it
 * reads. It gives the records of `folder`/records.jsonl; where there is a `folder`/failure it quotes that and fails.
 */

const { values } = parseArgs({
  options: {
    config: { type: 'string' },
    catalog: { type: 'string' },
    state: { type: 'string' },
    discover: { type: 'boolean' },
  },
});
const { folder } = JSON.parse(readFileSync(values.config!, 'utf8')) as { folder: string };
const schema = {
  properties: Object.fromEntries(
    ['email', 'plan', 'score', 'tags'].map((name) => [name, { type: ['null', 'string'] }]),
  ),
};
const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

const failure = join(folder, 'failure');

if (existsSync(failure)) {
  process.stderr.write(`CRITICAL ${readFileSync(failure, 'utf8')}\n`);
  process.exitCode = 1;
} else if (values.discover) {
  const metadata = { 'table-key-properties': ['email'], 'valid-replication-keys': ['email'] };
  say({ streams: [{ tap_stream_id: 'people', stream: 'people', schema, metadata: [{ breadcrumb: [], metadata }] }] });
} else {
  say({ type: 'SCHEMA', stream: 'people', schema, key_properties: ['email'] });
  for (const line of readFileSync(join(folder, 'records.jsonl'), 'utf8').split('\n').filter(Boolean)) {
    const record = JSON.parse(line) as { email: string };
    process.stderr.write(`INFO GET /people/${encodeURIComponent(record.email)}\n`);
    say({ type: 'RECORD', stream: 'people', record });
    say({ type: 'STATE', value: { after: record.email } });
  }
}
