import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../server/passwords.ts';
import { onFileEnd } from '../harness/clean-up.ts';
import { personId } from '../harness/people.ts';
import { useStack } from '../harness/stack.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** What `npx millrace` runs. */
const MILLRACE = fileURLToPath(new URL('../../cli/millrace.js', import.meta.url));

const stack = useStack();
let url: string;
let world: World;
let folder: string;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
  url = await stack.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  onFileEnd(() => rm(folder, { recursive: true }));
});

async function millrace(args: string[], { token = world.token, input = '', at = url } = {}) {
  const child = spawn(process.execPath, [MILLRACE, ...args], {
    env: { ...process.env, MILLRACE_URL: at, MILLRACE_TOKEN: token },
  });
  child.stdin.end(input);
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => { said.out += chunk.toString(); });
  child.stderr.on('data', (chunk: Buffer) => { said.err += chunk.toString(); });
  const [status] = await once(child, 'close') as [number];
  return { status, ...said };
}

async function file(...lines: string[]): Promise<string> {
  const path = join(folder, 'values.csv');
  await writeFile(path, `user_id,attribute_key,value,action_type\n${lines.join('\n')}\n`);
  return path;
}

describe('millrace import', () => {
  it('shows what came of the rows, and exits with 0 when all went in', async () => {
    const { status, out } = await millrace(['import', await file(`${personId(1)},plan,gold,`), '--sor', world.sor.identifier]);
    expect(out).toContain('finished: 1 rows read, 1 ok, 0 ignored, 0 failed');
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
    const one = await millrace(['errors', importId, '--type', 'UNDEFINED_ATTRIBUTE', '--json']);
    const listed = one.out.trim().split('\n').map((line) => JSON.parse(line) as object);
    expect(listed).toMatchObject([{ line: 4, error_type: 'UNDEFINED_ATTRIBUTE' }]);
  });

  it('exits with 2 for a file that could not be read', async () => {
    const path = join(folder, 'wrong.csv');
    await writeFile(path, 'id,what\n1,2\n');
    const { status, out } = await millrace(['import', path, '--sor', world.sor.identifier]);
    expect(out).toContain('failed: 0 rows read');
    expect(status).toBe(2);
  });

  it('says in a line what is wrong, and exits with 1, when it could not be done', async () => {
    const path = await file(`${personId(3)},plan,gold,`);
    const sor = world.sor.identifier;
    const attempts: [RegExp, ReturnType<typeof millrace>][] = [
      [/no\.csv cannot be read/, millrace(['import', join(folder, 'no.csv'), '--sor', sor])],
      [/System of record not found/i, millrace(['import', path, '--sor', 'sor_nothing'])],
      [/Set MILLRACE_TOKEN/, millrace(['import', path, '--sor', sor], { token: '' })],
      [/does not answer/, millrace(['import', path, '--sor', sor], { at: 'http://127.0.0.1:9' })],
      [/required option '--sor/, millrace(['import', path])],
    ];
    for (const [words, attempt] of attempts) {
      const { status, err } = await attempt;
      expect(err).toMatch(words);
      expect(err).not.toContain('    at ');
      expect(status).toBe(1);
    }
  });
});

describe('millrace login', () => {
  it('prints a token for the password on standard input', async () => {
    await stack.store.db.query('UPDATE users SET password_hash = $2 WHERE id = $1', [world.user.id, await hashPassword('a good password')]);
    const { status, out } = await millrace(['login', world.user.email], { input: 'a good password\n', token: '' });
    expect(status).toBe(0);
    expect((await millrace(['errors', 'imp_nothing'], { token: out.trim() })).err).toContain('Import not found');
    const wrong = await millrace(['login', world.user.email], { input: 'another\n', token: '' });
    expect([wrong.status, wrong.out]).toEqual([1, '']);
  });
});
