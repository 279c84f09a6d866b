import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sendFeed } from '../../harness/feed/feeds.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { inlineRows, workbook } from '../../harness/imports/workbooks.ts';
import { runDocumented } from './run-documented.ts';
import { runMillrace, startMillrace } from './run-millrace.ts';

const HEADER = 'user_id,attribute_key,value,action_type';

const stack = useStack();
let url: string;
let world: World;
let folder: string;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  url = await stack.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  onFileEnd(() => rm(folder, { recursive: true }));
});

function millrace(args: string[], { token = world.token, input = '', at = url } = {}) {
  return runMillrace(args, { url: at, token, input });
}

/** The same as a process, where that is what counts: its exit status, its input, its memory. */
function millraceProcess(args: string[], { token = world.token, input = '', env = {} } = {}) {
  return startMillrace(args, { url, token, input, env }).ended;
}

async function file(...lines: string[]): Promise<string> {
  const path = join(folder, 'values.csv');
  await writeFile(path, [HEADER, ...lines, ''].join('\n'));
  return path;
}

/** An import that has ended, of rows `<person>,<what is given here>`. */
async function endedImport(rows: readonly string[]): Promise<string> {
  const lines = rows.map((row, at) => `${personId(100 + at)},${row}`);
  const id = await postImport(stack.app, world, [HEADER, ...lines, ''].join('\n'));
  await importEnded(stack.store, world, id);
  return id;
}

async function valuesOf(customer: string): Promise<Record<string, unknown>> {
  const query = new URLSearchParams({ sor_id: world.sor.identifier, customer_id: customer, customer_type: 'user_id' });
  const reply = await stack.app.inject({
    method: 'GET',
    url: `/api/attribute_values?${query}`,
    headers: { authorization: `Token ${world.token}`, accept: 'application/vnd.svc.v3' },
  });
  return (reply.json() as { result: { attribute_values: Record<string, unknown> } }).result.attribute_values;
}

/** Without a worker an import stays where it is. The second of them starts the one that all others need. */
describe('an import that has not begun', () => {
  const startedImport = () => postImport(stack.app, world, `user_id,attribute_key,value\n${personId(1)},plan,gold\n`);

  it('Ctrl-C while an import is followed says that it goes on, and how to follow or cancel it', async () => {
    const id = await startedImport();
    const { child, said, ended } = startMillrace(['status', id], { url, token: world.token });
    await waitFor('the progress', async () => said.err.includes('0 rows'));
    process.kill(-child.pid!, 'SIGINT');
    const { status, err } = await ended;
    expect(status).toBe(130);
    expect(err).toContain(
      `The import goes on. To follow it: millrace status ${id}; to cancel it: millrace cancel ${id}`,
    );
  });

  it('a canceled import ends as canceled, and says so', async () => {
    const id = await startedImport();
    expect(await millrace(['cancel', id])).toMatchObject({ status: 0, err: '' });
    stack.startWorker();
    const { status, out } = await millrace(['status', id]);
    expect(out).toMatch(/^canceled: \d+ rows read/m);
    expect(status).toBe(2);
  });
});

describe('millrace import', () => {
  it('shows what came of the rows, and exits with 0 when all went in', async () => {
    const path = await file(`${personId(1)},plan,gold,`);
    const { status, out } = await millraceProcess(['import', path, '--sor', world.sor.identifier]);
    expect(out).toContain('finished: 1 row read, 1 ok, 0 ignored, 0 failed');
    expect(status).toBe(0);
  });

  it('counts the errors by type and exits with 2 when rows failed; millrace errors lists them', async () => {
    const rows = ['score,many,', 'score,few,', 'nothing,1,', 'plan,gold,'];
    const path = await file(...rows.map((row) => `${personId(2)},${row}`));
    const { status, out } = await millrace(['import', path, '--sor', world.sor.identifier, '--api-key', world.apiKey]);
    expect(out).toContain('finished: 4 rows read, 1 ok, 1 ignored, 2 failed');
    expect(out).toMatch(/INVALID_VALUE\s+2/);
    expect(out).toMatch(/UNDEFINED_ATTRIBUTE\s+1/);
    expect(status).toBe(2);
    const importId = /import (imp_\w+)/.exec(out)![1]!;
    const list = await millrace(['errors', importId]);
    expect(list.out).toMatch(/^2\s+INVALID_VALUE\s+\S+\s+score/m);
    expect(list.status).toBe(0);
    expect(await millrace(['status', importId, '--json'])).toMatchObject({
      err: '',
      out: expect.stringMatching(/^\{/) as string,
    });
    const one = await millrace(['errors', importId, '--type', 'UNDEFINED_ATTRIBUTE', '--json']);
    const listed = one.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(listed).toMatchObject([{ line: 4, error_type: 'UNDEFINED_ATTRIBUTE' }]);
  });

  it('reads a file as its options say, and says how it was read', async () => {
    const path = join(folder, 'spreadsheet.csv');
    await writeFile(
      path,
      Buffer.from(`user_id;attribute_key;value\n${personId(9)};plan;g\xf6ld\n${personId(9)};score;1,5\n`, 'latin1'),
    );
    const importOf = (source: string, ...options: string[]) =>
      millrace(['import', source, '--sor', world.sor.identifier, ...options]);
    const { status, out } = await importOf(
      path,
      '--delimiter',
      ';',
      '--encoding',
      'windows-1252',
      '--decimal',
      ',',
      '--dates',
      'lenient',
    );
    expect(out).toContain('read with a semicolon between fields, windows-1252, a comma before decimals, lenient dates');
    expect(out).toContain('2 rows read, 2 ok');
    expect(status).toBe(0);
    const sheets = join(folder, 'values.xlsx');
    const rows = inlineRows([
      ['user_id', 'attribute_key', 'value'],
      [personId(9), 'plan', 'gold'],
    ]);
    await writeFile(sheets, await workbook({ sheets: { Notes: '', Values: rows } }));
    expect((await importOf(sheets, '--sheet', 'Values')).out).toContain('read from the sheet "Values"');
    expect((await importOf(sheets, '--encoding', 'ebcdic')).err).toMatch(/--encoding.*utf-8, utf-16le/);
  });

  it('exits with 2 for a file that could not be read', async () => {
    const path = join(folder, 'wrong.csv');
    await writeFile(path, 'id,what\n1,2\n');
    const { status, out } = await millraceProcess(['import', path, '--sor', world.sor.identifier]);
    expect(out).toContain('failed: 0 rows read');
    expect(status).toBe(2);
  });

  it('says in a line what is wrong, and exits with 1, when it could not be done', async () => {
    const path = await file(`${personId(3)},plan,gold,`);
    const sor = world.sor.identifier;
    const attempts: [RegExp, ReturnType<typeof millrace>][] = [
      [/no\.csv cannot be read/, millrace(['import', join(folder, 'no.csv'), '--sor', sor])],
      [/System of record not found/i, millraceProcess(['import', path, '--sor', 'sor_nothing'])],
      [/Set MILLRACE_TOKEN/, millrace(['import', path, '--sor', sor], { token: '' })],
      [/does not answer/, millrace(['import', path, '--sor', sor], { at: 'http://127.0.0.1:9' })],
      [/required option '--sor/, millraceProcess(['import', path])],
    ];
    for (const [words, attempt] of attempts) {
      const { status, err } = await attempt;
      expect(err).toMatch(words);
      expect(err).not.toContain('    at ');
      expect(status).toBe(1);
    }
  });
});

describe('millrace import --dry-run', () => {
  it('prints the report that the import would give, headed as a dry run, and changes nothing', async () => {
    const path = await file(`${personId(4)},plan,gold,`, `${personId(4)},score,many,`);
    const { status, out } = await millrace(['import', path, '--sor', world.sor.identifier, '--dry-run']);
    expect(out).toMatch(/^dry run: nothing was changed\nfinished: 2 rows read, 1 ok, 0 ignored, 1 failed$/m);
    expect(out).toMatch(/INVALID_VALUE\s+1/);
    expect(status).toBe(2);
    expect(await valuesOf(personId(4))).toEqual({});
  });
});

describe('millrace errors', () => {
  it('shows long cells cut, and nothing that a terminal would obey', async () => {
    const key = 'k'.repeat(60);
    const id = await postImport(
      stack.app,
      world,
      `${HEADER}\n${personId(5)}\u001b[2J,plan,gold,\n${personId(5)},${key},1,\n`,
    );
    await importEnded(stack.store, world, id);
    const { out } = await millrace(['errors', id]);
    expect(out).toMatch(/^2 +INVALID_CUSTOMER_ID +\S+\uFFFD\[2J/m);
    expect(out).not.toContain('\u001b');
    expect(out).toMatch(/^3 +UNDEFINED_ATTRIBUTE +\S+ +k{23}… +\S/m);
    const whole = await millrace(['errors', id, '--json', '--type', 'UNDEFINED_ATTRIBUTE']);
    expect(JSON.parse(whole.out)).toMatchObject({ key });
  });

  it("shows the column of a table's cell, and by which import a row has come since", async () => {
    const table = join(folder, 'table.csv');
    await writeFile(table, `plan,who,Orders total,notes\ngold,${personId(8)},many,x\ngold,,1,x\n`);
    const mapped = ['--customer', 'who', '--map', 'Orders total=score', '--map', 'plan'];
    const { out: report } = await millrace(['import', table, '--sor', world.sor.identifier, ...mapped]);
    expect(report).toMatch(/^finished: 3 rows read, 1 ok, 0 ignored, 2 failed\ncolumns that no --map names: notes$/m);
    const id = /import (imp_\w+)/.exec(report)![1]!;
    expect((await millrace(['errors', id])).out.split('\n')).toEqual([
      expect.stringMatching(/^line +column +error +customer +key +reason$/),
      expect.stringMatching(/^-|^─/),
      expect.stringMatching(/^2 +Orders total +INVALID_VALUE +\S+ +score +"many" /),
      expect.stringMatching(/^3 +INVALID_CUSTOMER_ID +in the column "who", the customer id is empty$/),
      '',
    ]);
    const { out: errors } = await millrace(['errors', id, '--csv']);
    const path = join(folder, 'corrected.csv');
    await writeFile(path, errors.replace('many', '7'));
    const child = /import (imp_\w+)/.exec((await millrace(['redrive', id, path])).out)![1]!;
    expect((await millrace(['errors', id])).out).toMatch(new RegExp(`^2 .* settled by ${child}: "many" `, 'm'));
    expect((await millrace(['errors', id, '--open'])).out).not.toContain('many');
  });

  it('counts the values of a feed from 0, and says where to ask for what only an import has', async () => {
    const reply = await sendFeed(stack.app, world, [
      { customer_id: personId(7), attribute_key: 'plan', attribute_value: 5 },
    ]);
    const { requestId } = reply.json<{ result: { requestId: string } }>().result;
    await waitFor('the error', async () => (await millrace(['errors', requestId])).out !== 'no errors\n');
    expect((await millrace(['errors', requestId])).out).toMatch(
      /^0 +INVALID_VALUE .* a number is no value of a String: send a string$/m,
    );
    const hint = 'Import not found: this is a request of the JSON feed, see /api/attribute_values/feeds/<requestId>\n';
    for (const args of [
      ['status', requestId],
      ['cancel', requestId],
      ['errors', requestId, '--csv'],
    ]) {
      expect(await millrace(args)).toEqual({ status: 1, out: '', err: hint });
    }
  });

  it('says so when there are none', async () => {
    expect(await millrace(['errors', await endedImport(['plan,gold,'])])).toEqual({
      status: 0,
      out: 'no errors\n',
      err: '',
    });
  });

  it('lists far more errors than fit into its memory, and ends quietly when nobody reads on', async () => {
    const id = await endedImport(Array.from({ length: 40_000 }, () => 'score,many,'));
    // All of them at once are too many for 44 MB, too.
    const env = { NODE_OPTIONS: '--max-old-space-size=32' };
    const table = await millraceProcess(['errors', id], { env });
    expect([table.status, table.err]).toEqual([0, '']);
    expect(table.out.trimEnd().split('\n').length).toBe(2 + 40_000);
    expect(table.out).toMatch(/^40001 +INVALID_VALUE +\S+ +score +\S/m);
    const { child, ended } = startMillrace(['errors', id, '--json'], { url, token: world.token, env });
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await ended).toMatchObject({ status: 0, err: '' });
  });

  it('--csv gives the rows to correct, to standard output or into a file, all or of one type', async () => {
    const id = await endedImport(['score,many,', 'plan,gold,', 'nothing,1,']);
    const { status, out } = await millrace(['errors', id, '--csv']);
    const [head, ...rows] = out.trimEnd().split('\n');
    expect(head!.trim()).toBe(`${HEADER},line,error_type,reason,original`);
    expect(rows.map((row) => row.slice(0, row.indexOf('@')))).toEqual(
      [personId(100), personId(102)].map((id) => id.split('@')[0]),
    );
    expect(status).toBe(0);
    const path = join(folder, 'errors.csv');
    const quiet = await millrace(['errors', id, '--csv', '--type', 'INVALID_VALUE', '--output', path]);
    expect(quiet).toEqual({ status: 0, out: '', err: '' });
    expect((await readFile(path, 'utf8')).trimEnd().split('\n')).toEqual([head, rows[0]]);
    const nowhere = await millrace(['errors', id, '--csv', '--output', join(folder, 'no', 'errors.csv')]);
    expect(nowhere).toMatchObject({ status: 1, err: expect.stringContaining('cannot be written (ENOENT)') as string });
  });
});

describe('millrace redrive', () => {
  it('imports the corrected rows, and tells of both imports and of what is still open', async () => {
    const id = await endedImport(['score,many,', 'score,few,', 'plan,gold,', 'nothing,1,']);
    const path = join(folder, 'to-correct.csv');
    await millrace(['errors', id, '--csv', '--output', path]);
    await writeFile(path, (await readFile(path, 'utf8')).replace('score,many', 'score,17'));
    const { status, out } = await millrace(['redrive', id, path]);
    expect(out).toMatch(/^finished: 3 rows read, 1 ok, 1 ignored, 1 failed$/m);
    expect(out).toContain(`a re-drive of ${id}`);
    expect(out).toMatch(/^still open: 2 /m);
    expect(status).toBe(2);
    expect(await valuesOf(personId(100))).toMatchObject({ score: 17 });
    const parent = await millrace(['status', id]);
    expect(parent.out).toMatch(/^finished: 4 rows read, 1 ok, 1 ignored, 2 failed$/m);
    expect(parent.out).toMatch(/^imp_\w+ +finished +3 +1 +1 +1$/m);
    expect(parent.out).toMatch(/^still open: 2 /m);
    expect(parent.status).toBe(2);
    const days = await millrace(['imports', 'days', '--sor', world.sor.identifier]);
    expect(days.out).toMatch(/^day +imports +read +ok +ignored +failed +errors$/m);
    expect(days.out).toMatch(/^\d{4}-\d\d-\d\d( +[1-9]\d*){5} +(\w+ \d+, )*INVALID_VALUE \d+(, \w+ \d+)*$/m);
  });
});

describe('millrace status', () => {
  it('prints the report of an import that has ended', async () => {
    const { status, out } = await millrace(['status', await endedImport(['plan,gold,', 'nothing,1,'])]);
    expect(out).toMatch(/^finished: 2 rows read, 1 ok, 1 ignored, 0 failed$/m);
    expect(out).not.toContain('still open');
    expect(status).toBe(0);
    expect(await millrace(['status', 'imp_nothing'])).toMatchObject({ status: 1, out: '', err: 'Import not found\n' });
  });
});

describe('millrace cancel', () => {
  it('is refused for an import that has ended', async () => {
    const { status, err } = await millrace(['cancel', await endedImport(['plan,gold,'])]);
    expect(status).toBe(1);
    expect(err).toMatch(/ended/);
  });
});

describe('millrace template', () => {
  it('prints the header and a row for each attribute that takes values', async () => {
    const { status, out } = await millrace(['template', '--sor', world.sor.identifier]);
    const [head, ...rows] = out.trim().split(/\r?\n/);
    expect(head).toBe(HEADER);
    expect(rows.toSorted((one, other) => one.localeCompare(other))).toEqual(
      ['born', 'plan', 'score', 'seen', 'tags', 'vip'].map((key) => `,${key},,`),
    );
    expect(status).toBe(0);
  });
});

describe('millrace login', () => {
  it('prints a token for the password on standard input', async () => {
    await stack.store.db.query('UPDATE users SET password_hash = $2 WHERE id = $1', [
      world.user.id,
      await hashPassword('a good password'),
    ]);
    const { status, out } = await millraceProcess(['login', world.user.email], {
      input: 'a good password\n',
      token: '',
    });
    expect(status).toBe(0);
    expect((await millrace(['errors', 'imp_nothing'], { token: out.trim() })).err).toContain('Import not found');
    const wrong = await millrace(['login', world.user.email], { input: 'another\n', token: '' });
    expect([wrong.status, wrong.out]).toEqual([1, '']);
  });
});

describe('the first import of the README', () => {
  it('needs the command alone, and ends with the profile of its customer', async () => {
    await millrace(['sors', 'rename', world.sor.identifier, 'Another']);
    const readme = await readFile(join(import.meta.dirname, '../../../README.md'), 'utf8');
    const block = /```sh\n(export MILLRACE_TOKEN=[^`]+)```/.exec(readme)![1]!;
    const lines = block.replaceAll('npx --no-install millrace', 'millrace').split('\n');
    expect(lines.filter((line) => /curl|\\"/.test(line))).toEqual([]);
    const code = lines.filter((line) => !line.startsWith('export MILLRACE_TOKEN')).join('\n');
    const out = await runDocumented(code, folder, null, { MILLRACE_URL: url, MILLRACE_TOKEN: world.token });
    expect(out).toContain('2 rows read, 2 ok');
    expect(out).toMatch(/^user_id ada@example\.com$/m);
    expect(out).toMatch(/^CRM +plan +gold$/m);
  });

  it('shows attributes without a value on request only, of one System of Records, as the API has them with --json', async () => {
    await millrace(['sors', 'add', 'Others']);
    await millrace(['attributes', 'add', 'Others', 'unset', '--type', 'String']);
    expect((await millrace(['profile', 'ada@example.com'])).out).not.toContain('unset');
    expect((await millrace(['profile', 'ada@example.com', '--sor', 'CRM'])).out).toContain('orders');
    const [profile] = JSON.parse((await millrace(['profile', 'ada@example.com', '--json'])).out) as {
      customer_id: string;
    }[];
    expect(profile!.customer_id).toBe('ada@example.com');
    expect((await millrace(['profile', 'ada@example.com', '--all'])).out).toContain('orders');
    expect(await millrace(['profile', 'nothing@example.com'])).toMatchObject({ status: 1, out: '' });
  });
});
