import { beforeAll, expect, it } from 'vitest';
import { postImport } from '../harness/imports.ts';
import { personId } from '../harness/people.ts';
import { useStack } from '../harness/stack.ts';
import { waitFor } from '../harness/wait.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { runMillrace, startMillrace } from './run-millrace.ts';

/** Without a worker an import stays where it is. */
const stack = useStack();
let world: World;
let url: string;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  url = await stack.app.listen({ port: 0, host: '127.0.0.1' });
});

const startedImport = () => postImport(stack.app, world, `user_id,attribute_key,value\n${personId(1)},plan,gold\n`);

it('Ctrl-C while an import is followed says that it goes on, and how to follow or cancel it', async () => {
  const id = await startedImport();
  const { child, said, ended } = startMillrace(['status', id], { url, token: world.token });
  await waitFor('the progress', async () => said.err.includes('0 rows'));
  process.kill(-child.pid!, 'SIGINT');
  const { status, err } = await ended;
  expect(status).toBe(130);
  expect(err).toContain(`The import goes on. To follow it: millrace status ${id}; to cancel it: millrace cancel ${id}`);
});

it('a canceled import ends as canceled, and says so', async () => {
  const id = await startedImport();
  expect(await runMillrace(['cancel', id], { url, token: world.token })).toMatchObject({ status: 0, err: '' });
  stack.startWorker();
  const { status, out } = await runMillrace(['status', id], { url, token: world.token });
  expect(out).toMatch(/^canceled: \d+ rows read/m);
  expect(status).toBe(2);
});
