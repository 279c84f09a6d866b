import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { insertReceipt } from '../../../store/gdpr/receipts.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { deletionByDevice } from '../../harness/gdpr/gdpr-requests.ts';
import { testServer } from '../../server/http/test-server.ts';
import { runMillrace, startMillrace } from '../core/run-millrace.ts';

let store: TestStore;
let url: string;
let world: World;
let folder: string;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-gdpr-'));
  onFileEnd(() => rm(folder, { recursive: true }));
});

const millrace = (args: string[], input = '') => runMillrace(['gdpr', ...args], { url, token: world.token, input });
const requestIn = (out: string) => /gdp_\w+/.exec(out)![0];

async function treat(request: string): Promise<void> {
  await store.db.query(
    `UPDATE gdpr_request_people SET state = 'treated', treated_at = now()
     WHERE request_id = (SELECT id FROM gdpr_requests WHERE identifier = $1)`,
    [request],
  );
  await store.db.query(
    `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + interval '7 days'
    WHERE identifier = $1`,
    [request],
  );
}

it('asks for users of the command line and of a file, each once, and tells how that stands', async () => {
  const ids = join(folder, 'ids.txt');
  await writeFile(ids, `\uFEFF${personId(1)}\r\n${personId(2)}\n\n`);
  const asked = await millrace(['access', personId(1), '--file', ids, '--no-email']);
  expect(asked).toMatchObject({ status: 0, err: '' });
  const request = requestIn(asked.out);
  const { out } = await millrace(['status', request]);
  expect(out).toContain(`${request}: accepted, data asked for`);
  expect(out.match(/pending/g)).toHaveLength(2);
  expect((await millrace([])).out).toMatch(new RegExp(`${request} +access +api +accepted .* 2 +0 +0$`, 'm'));
  expect((await millrace(['access'])).err).toContain('No user ids were given');
  expect((await millrace(['access', `${personId(1)},${personId(2)}`])).err).toContain(
    'has a comma: leave a space between two ids',
  );
});

it('warns of users whose id differs only in capitals', async () => {
  const similar = personId(20).toUpperCase();
  await store.db.query('INSERT INTO customers (entity_id, customer_id, customer_type) VALUES ($1, $2, 0)', [
    world.entity.id,
    similar,
  ]);
  const { status, out, err } = await millrace(['access', personId(20)]);
  expect([status, err]).toEqual([
    0,
    expect.stringContaining(`similar to ${personId(20)}: ${similar}\n  These ids differ only in`),
  ]);
  expect((await millrace(['status', requestIn(out)])).out).toContain(`similar to ${personId(20)}: ${similar}\n`);
});

it('deletes only when that was said, and waits until all of them are treated', async () => {
  const refused = await millrace(['delete', personId(3)]);
  expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('add --yes')]);
  const args = ['gdpr', 'delete', '--file', '-', '--yes', '--wait'];
  const waiting = startMillrace(args, { url, token: world.token, input: `${personId(3)}\n` });
  await expect.poll(() => waiting.said.out).toMatch(/request gdp_\w+/);
  await treat(requestIn(waiting.said.out));
  const { status, out } = await waiting.ended;
  expect(status).toBe(0);
  expect(out).toContain(': treated, deletion asked for');
  expect(out).toMatch(new RegExp(`${personId(3)} +treated`));
});

it('writes receipts into a file that the verifier takes', async () => {
  const request = requestIn((await millrace(['delete', personId(4), '--yes'])).out);
  expect((await millrace(['receipt', request])).err).toContain('there is a receipt once it is treated');
  const subject = store.secrets.customerHash(world.entity.id, 'user_id', personId(4));
  await write(store.db, (tx) =>
    insertReceipt(tx, store.secrets, world.entity.id, {
      type: 'erasure',
      request,
      round: 1,
      source: 'api',
      requested_at: '2026-11-01T08:00:00Z',
      tombstones_at: '2026-11-01T08:00:05Z',
      requested_by: { kind: 'user', id: world.user.uid },
      places: [],
      copies: [],
      kept: [],
      subjects: [{ subject: subject.toString('hex'), identifiers: { user_id: 1, device_id: 0, push_token: 0 } }],
    }),
  );
  const out = join(folder, 'receipt.json');
  expect((await millrace(['receipt', '--user', personId(5)])).err).toContain('There is no receipt of this id.');
  expect((await millrace(['receipt', request, '--user', personId(4)])).err).toContain(
    'Give a request, or --user with an id',
  );
  expect((await millrace(['receipt', '--user', personId(4)])).out).toContain(request);
  expect(await millrace(['receipt', request, '--out', out])).toMatchObject({ status: 0, out: '' });
  const verified = await runMillrace(['verify', out, '--jwks', `${url}/.well-known/jwks.json`], {
    url: 'http://127.0.0.1:1',
    token: '',
  });
  expect(verified).toMatchObject({ status: 0, out: expect.stringContaining(`request ${request}`) as string });
  expect(verified.out).toContain(subject.toString('hex'));
});

it('writes archives into files of their own, and takes none that is not the one its receipt tells of', async () => {
  const request = requestIn((await millrace(['access', personId(10), personId(11)])).out);
  const archive = randomBytes(50_000).toString('hex');
  const key = `access/${request}/1-test.zip`;
  await store.files.put(key, asBytes(archive));
  await treat(request);
  await store.db.query(
    `UPDATE gdpr_request_people SET archive_key = $2, archive_bytes = $3, archive_sha256 = $4
     WHERE user_id = $1`,
    [personId(10), key, archive.length, createHash('sha256').update(archive).digest()],
  );
  await store.db.query(
    `UPDATE gdpr_request_people SET message = 'No installations found for this user' WHERE user_id = $1`,
    [personId(11)],
  );
  const issue = (round: number, of: string) =>
    write(store.db, (tx) =>
      insertReceipt(tx, store.secrets, world.entity.id, {
        type: 'access',
        request,
        round,
        source: 'api',
        requested_at: '2026-11-01T08:00:00Z',
        requested_by: { kind: 'user', id: world.user.uid },
        subjects: [],
        places: [],
        archives: [{ sha256: createHash('sha256').update(of).digest('hex'), bytes: of.length }],
      }),
    );
  const to = join(folder, 'archives');
  await issue(1, 'another');
  const wrong = await millrace(['download', request, '--to', to]);
  expect([wrong.status, wrong.err]).toEqual([1, expect.stringContaining('is not what')]);
  await issue(2, archive);
  const { status, out } = await millrace(['download', request, '--to', to]);
  const file = join(to, `${request}-1.zip`);
  expect([status, out]).toEqual([
    0,
    `${personId(11)}: No installations found for this user\n${personId(10)}: ${file}\n`,
  ]);
  expect(await readFile(file, 'utf8')).toBe(archive);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it('approves and declines what was asked for from devices', async () => {
  const [one, other] = await Promise.all(
    [5, 6].map((n) => deletionByDevice(store.db, world.entity.id, { userId: personId(n), deviceId: `device-${n}` })),
  );
  expect((await millrace(['status', one!.identifier])).out).toContain('waits for approval');
  expect((await millrace(['approve', one!.identifier])).out).toBe('approved\n');
  expect((await millrace(['decline', other!.identifier, '--reason', 'withdrawn'])).out).toBe('declined\n');
  expect((await millrace(['approve', other!.identifier])).status).toBe(1);
  expect((await millrace(['status', other!.identifier])).out).toContain('declined: nothing was done');
  expect((await millrace(['requests', '--state', 'declined'])).out).toContain(other!.identifier);
  const several = await Promise.all(
    [7, 8].map((n) => deletionByDevice(store.db, world.entity.id, { userId: personId(n), deviceId: `device-${n}` })),
  );
  const [first, last] = several.map((request) => request!.identifier);
  const decided = await millrace(['decline', first!, other!.identifier, last!]);
  expect([decided.status, decided.out]).toEqual([1, `${first} declined\n${last} declined\n`]);
  expect(decided.err).toContain(`${other!.identifier} `);
});

it('puts people on hold, lists and releases them, and takes people in again', async () => {
  const held = await millrace(['hold', personId(7), '--reason', 'court case 12']);
  expect(held).toMatchObject({ status: 0, err: '' });
  const device = await millrace(['hold', 'device-7', '--device', '--reason', 'disputed', '--kind', 'restriction']);
  const { out } = await millrace(['holds']);
  expect(out).toMatch(new RegExp(`${held.out.trim()} +hold +${personId(7)} .*court case 12`));
  expect(out).toMatch(new RegExp(`${device.out.trim()} +restriction +device device-7 .*disputed`));
  expect((await millrace(['release', held.out.trim()])).out).toBe('released\n');
  await insertTombstone(store.db, world.entity.id, store.secrets.customerHash(world.entity.id, 'user_id', personId(8)));
  expect((await millrace(['readmit', personId(8), personId(9)])).out).toBe(
    '1 user readmitted, 1 had not been erased\n',
  );
});

it('lists what is linked to a user by whose word, and takes decisions on it', async () => {
  const [me, other] = [personId(41), personId(42)];
  await store.db.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, device_id) VALUES ($1, $2, $3, 'their-device')`,
    [world.entity.id, other, me],
  );
  const listed = await millrace(['identifiers', me]);
  expect(listed.out).toMatch(new RegExp(`${me} +user_id +${other} +left alone: unconfirmed +their-device `));
  expect(await millrace(['alias', 'confirm', other, me])).toMatchObject({ status: 0, out: 'confirmed\n' });
  expect((await millrace(['identifiers', me])).out).toMatch(new RegExp(`${other} +confirmed +their-device `));
  const none = await millrace(['alias', 'refuse', me, other]);
  expect([none.status, none.err]).toEqual([1, expect.stringContaining('Alias not found')]);
});
