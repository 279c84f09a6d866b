import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { signDocument } from '../../../domain/core/signed-document.ts';
import { signDeletionList } from '../../../domain/gdpr/deletion-list.ts';
import type { GdprReceipt, UnsignedReceipt } from '../../../domain/gdpr/gdpr-receipt.ts';
import { makeSigner } from '../../../store/core/secrets.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { runMillrace } from '../core/run-millrace.ts';

const ours = makeSigner([randomBytes(32)]);
let folder: string;
let jwks: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-verify-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  jwks = await put('jwks.json', { keys: ours.signingKeys() });
});

async function put(name: string, content: object): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(content));
  return path;
}

/** No server is there to be asked. */
const verify = (...args: string[]) => runMillrace(['verify', ...args], { url: 'http://127.0.0.1:1', token: '' });
const verifyOf = async (document: object, ...args: string[]) =>
  verify(await put('given.json', document), '--jwks', jwks, ...args);

const shared = {
  version: 1,
  request: 'gdp_1',
  round: 1,
  source: 'api',
  requested_at: '2026-11-20T08:00:00Z',
  requested_by: { kind: 'user', id: 'usr_1' },
  entity: 'ent_1',
  issued_at: '2026-11-20T08:10:00Z',
} as const;
const SUBJECTS = [{ subject: 'ab'.repeat(32), identifiers: { user_id: 2, device_id: 1, push_token: 1 } }];

type Given = Partial<Pick<Extract<GdprReceipt, { type: 'erasure' }>, 'round' | 'places'>>;

function receipt(given: Given = {}, sign = ours.sign): GdprReceipt {
  return signDocument<UnsignedReceipt>(
    {
      ...shared,
      receipt: 'rct_1',
      subjects: SUBJECTS,
      type: 'erasure',
      tombstones_at: '2026-11-20T08:00:02Z',
      places: [
        { place: 'events', erased: 120, survivors: 0 },
        { place: 'devices', erased: 1, survivors: 0 },
      ],
      copies: [
        {
          kind: 'exporter',
          id: 'exp_1',
          state: 'notified',
          list: 'daily/exp_1/deletions/1.json',
          at: '2026-11-20T08:09:00Z',
          reason: null,
        },
        { kind: 'exporter', id: 'exp_2', state: 'not_notified', list: null, at: null, reason: 'AccessDenied' },
        { kind: 'sync', id: 'syn_1', state: 'elsewhere', list: null, at: null, reason: 'delete them in contacts' },
      ],
      kept: [{ place: 'tombstones', why: 'so that nobody brings them back', until: null }],
      ...given,
    },
    sign,
  );
}

it('a receipt says what it vouches for: people, places, survivors, copies', async () => {
  const { status, out, err } = await verifyOf(receipt());
  expect({ status, err }).toEqual({ status: 0, err: '' });
  for (const said of [
    'receipt rct_1: valid, signed by ',
    'of erasure, request gdp_1, round 1',
    '1 person, known by 3 ids',
    '121 rows and files were erased, in 2 places',
    'found 0 survivors',
    'events: 120 erased',
    'exporter exp_1: notified by daily/exp_1/deletions/1.json',
    'exp_2: not notified. AccessDenied',
    'sync syn_1: elsewhere. delete them',
    'kept: tombstones, so that nobody',
  ])
    expect(out).toContain(said);
});

it("one that was changed, one of another's key and one without signature are told apart, and none is taken for good", async () => {
  const changed = { ...receipt(), places: [{ place: 'events', erased: 121, survivors: 0 }] };
  const unsigned = Object.fromEntries(Object.entries(receipt()).filter(([name]) => name !== 'signature'));
  const given = [changed, receipt({}, makeSigner([randomBytes(32)]).sign), unsigned, { ...receipt(), more: 1 }];
  const { status, out } = await verifyOf({ receipts: given });
  expect(status).toBe(1);
  expect(out.match(/TAMPERED|UNKNOWN KEY|UNSIGNED/g)).toEqual(['TAMPERED', 'UNKNOWN KEY', 'UNSIGNED', 'TAMPERED']);
  expect(out.match(/What it says, unverified/g)).toHaveLength(4);
  expect((await verifyOf(changed)).status).toBe(1);
});

it('several receipts are each looked at: one that was changed, or that tells of survivors, is enough for a no', async () => {
  const [first, second] = [receipt(), receipt({ round: 2 })];
  expect(await verifyOf({ success: true, result: { receipts: [first, second] } })).toMatchObject({ status: 0 });
  const { status, out } = await verifyOf({ receipts: [first, { ...second, round: 3 }] }, '--json');
  expect(status).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ ok: false, documents: [{ signature: 'valid' }, { signature: 'invalid' }] });
  const left = await verifyOf(receipt({ places: [{ place: 'events', erased: 1, survivors: 2 }] }));
  expect([left.status, left.out.includes('SURVIVORS: 2')]).toEqual([1, true]);
});

it('a receipt of access and a deletion list are looked at, too', async () => {
  const access = signDocument<UnsignedReceipt>(
    {
      ...shared,
      receipt: 'rct_2',
      subjects: SUBJECTS,
      type: 'access',
      places: [{ place: 'events', shown: 7 }],
      archives: [{ sha256: 'cd'.repeat(32), bytes: 1_000 }],
    },
    ours.sign,
  );
  const list = signDeletionList(
    {
      exporter: 'exp_1',
      entity: 'ent_1',
      list: 'del_1',
      request: 'gdp_1',
      erased_at: '2026-11-20T08:00:00Z',
      identifiers: { user_id: ['ab'.repeat(32)], device_id: [] },
    },
    ours.sign,
  );
  const { status, out } = await verifyOf({ receipts: [access, list] });
  expect(status).toBe(0);
  for (const said of ['7 rows and files were shown', 'deletion list del_1: valid', '1 user ids and 0 device ids']) {
    expect(out).toContain(said);
  }
});

it('says in a line what is wrong with what it was given', async () => {
  const file = await put('given.json', receipt());
  expect((await verify(file)).err).toContain('--jwks');
  expect((await verify(file, '--jwks', file)).err).toContain('holds no set of Ed25519 keys');
  expect((await verify(join(folder, 'none.json'), '--jwks', jwks)).err).toContain('cannot be read (ENOENT)');
  expect((await verifyOf({ receipts: [] })).err).toContain('There are no receipts in it');
});
