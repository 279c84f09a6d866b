import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { type AddressInfo, createConnection } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KeptFileQuota } from '../../../server/imports/kept-file-quota.ts';
import { write } from '../../../store/core/database.ts';
import { findImportSource, claimImport, findImport } from '../../../store/imports/imports.ts';
import { lockKeptFiles } from '../../../store/imports/kept-files.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { type Answer, testServer, webForm } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const PATH = '/api/attribute_values/batch_import';
const CSV = Buffer.from('user_id,attribute_key,value\nu1,plan,gold\nu2,plan,silver\n');

const { store, server, world } = useServer();
let credentials: [string, string][];

beforeAll(async () => {
  credentials = [
    ['sor_id', world.sor.identifier],
    ['api_key', world.apiKey],
  ];
});

let keptBefore: string[];
beforeEach(async () => {
  keptBefore = await kept();
});

async function kept(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.files.list('imports/')) keys.push(key);
  return keys.toSorted();
}

const send = (parts: [string, string | Buffer][], { v3 = false, to = server } = {}): Promise<Answer> =>
  to.call('POST', PATH, { v3, ...webForm(parts) });
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function importOf({ body }: Answer) {
  const job = (await findImport(store.db, world.entity.id, body.result.import_id))!;
  const file = job.file!;
  return { job, file, stored: (await store.files.readAll(file.fileKey))! };
}

describe('an upload', () => {
  test.each([
    ['before the file', true],
    ['after it', false],
  ])('with its fields %s is accepted, pinned and started', async (_where, before) => {
    const file: [string, Buffer] = ['file', CSV];
    const answer = await send(before ? [...credentials, file] : [file, ...credentials]);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: true, result: { jid: expect.any(String), import_id: expect.any(String) } });
    const { job, file: pinned, stored } = await importOf(answer);
    expect(stored).toEqual(CSV);
    expect(job).toMatchObject({
      state: 'accepted',
      version: 2,
      skipEmail: false,
      sorId: world.sor.id,
      jid: answer.body.result.jid,
      file: { fileBytes: CSV.length, sourceBytes: CSV.length, sourceGzip: false, sourceDefect: null },
    });
    expect(pinned.fileSha256.toString('hex')).toBe(sha256(CSV));
    expect(server.started).toContainEqual([
      'import',
      { entityId: world.entity.id, jobId: job.id, identifier: job.identifier },
    ]);
  });

  test('of gzip is known by its content and kept decompressed, with both checksums', async () => {
    const gzip = gzipSync(CSV);
    const answer = await send([...credentials, ['skip_email', 'true'], ['file', gzip]], { v3: true });
    const { job, file, stored } = await importOf(answer);
    expect(stored).toEqual(CSV);
    expect(job).toMatchObject({ version: 3, skipEmail: true, file: { sourceGzip: true } });
    expect([file.sourceBytes, file.fileBytes]).toEqual([gzip.length, CSV.length]);
    expect([file.sourceSha256.toString('hex'), file.fileSha256.toString('hex')]).toEqual([sha256(gzip), sha256(CSV)]);
  });

  test('is written into the audit log of the entity', async () => {
    const { job } = await importOf(await send([...credentials, ['file', CSV]]));
    const { rows } = await store.db.query(
      'SELECT actor_kind, actor_id, action FROM audit_log WHERE entity_id = $1 AND subject = $2',
      [world.entity.id, job.identifier],
    );
    expect(rows).toEqual([{ actor_kind: 'sor_key', actor_id: world.sor.id, action: 'import' }]);
  });

  test('of a user needs no key, and the audit log names the user', async () => {
    const path = '/api/attribute_values/imports';
    const upload = (parts: [string, string | Buffer][], token = world.token) =>
      server.call('POST', path, { token, ...webForm(parts) });
    const sor: [string, string] = ['sor_id', world.sor.identifier];
    const { job, stored } = await importOf(await upload([sor, ['dry_run', 'true'], ['file', CSV]]));
    expect([stored, job.sorId, job.dryRun]).toEqual([CSV, world.sor.id, true]);
    const { rows } = await store.db.query('SELECT actor_kind, actor_id FROM audit_log WHERE subject = $1', [
      job.identifier,
    ]);
    expect(rows).toEqual([{ actor_kind: 'user', actor_id: world.user.id }]);
    const late = await upload([['file', CSV], sor]);
    expect([late.status, late.body.error_message]).toEqual([400, 'sor_id: is required, before the file']);
    const stranger = await makeWorld(store);
    expect((await upload([sor, ['file', CSV]], stranger.token)).status).toBe(404);
    expect(await kept()).toHaveLength(keptBefore.length + 1);
  });

  test('whose workflow cannot be started is accepted all the same', async () => {
    const down = await testServer(store, {
      startJob: async () => {
        throw new Error('zqsecret');
      },
    });
    expect((await send([...credentials, ['file', CSV]], { to: down })).status).toBe(200);
    expect(down.logs).toContainEqual(expect.objectContaining({ level: 40, msg: 'an import is left to the sweep' }));
    expect(JSON.stringify(down.logs)).not.toContain('zqsecret');
  });

  test('waits no longer than a moment for a Temporal that does not answer', async () => {
    const hanging = await testServer(store, { startJob: () => new Promise(() => {}) });
    expect((await send([...credentials, ['file', CSV]], { to: hanging })).status).toBe(200);
  });
});

describe('what is kept of files', () => {
  const limited = (bytesPerSor: number, bytesPerEntity: number) =>
    testServer(store, {
      settings: {
        limits: {
          keptBytesPerSor: bytesPerSor * CSV.length,
          keptBytesPerEntity: bytesPerEntity * CSV.length,
        },
      },
    });

  test.each([
    ['a System of Records', 2, 9, 'into this System of Records', 'MILLRACE_KEPT_PER_SOR'],
    ['an entity', 9, 2, 'of the entity', 'MILLRACE_KEPT_PER_ENTITY'],
  ])(
    'has a limit for %s, up to the last byte, until an import ends or its file goes',
    async (_of, perSor, perEntity, whose, setting) => {
      const own = await makeWorld(store);
      const to = await limited(perSor, perEntity);
      const key: [string, string][] = [
        ['sor_id', own.sor.identifier],
        ['api_key', own.apiKey],
      ];
      const upload = () => send([...key, ['file', CSV]], { to });
      const first = await upload();
      const second = await upload();
      expect([first.status, second.status]).toEqual([200, 200]);
      keptBefore = await kept();
      const most = 2 * CSV.length;
      const full = `file: with this file, the files of the imports ${whose} would have over ${most} bytes (${setting}); ${most} are kept`;
      const ways = [
        await upload(),
        await send([['file', Buffer.from('x')], ...key], { to }),
        await to.call('POST', PATH, {
          body: { ...Object.fromEntries(key), file_url: 'https://files.example.com/a.csv' },
        }),
      ];
      for (const { status, body, headers } of ways) {
        expect([status, headers['retry-after']]).toEqual([429, '60']);
        expect(body.error_message).toContain(`${full}, and none of their imports has ended. Cancel an import`);
      }
      expect(await kept()).toEqual(keptBefore);

      const canceled = await to.call('POST', `/api/attribute_values/imports/${first.body.result.import_id}/cancel`, {
        token: own.token,
      });
      expect(canceled.status).toBe(200);
      const { rows } = await store.db.query('SELECT file_key FROM file_deletions WHERE entity_id = $1', [
        own.entity.id,
      ]);
      expect(rows).toHaveLength(1);
      expect((await upload()).status).toBe(200);
      await store.db.query(
        `UPDATE imports SET state = 'finished', ended_at = now() - interval '6 days' WHERE identifier = $1`,
        [second.body.result.import_id],
      );
      const later = await upload();
      expect([later.status, Number(later.headers['retry-after']) > 86_000]).toEqual([429, true]);
      expect(later.body.error_message).toMatch(/are kept, the first of them until \d{4}-\d\d-\d\dT/);
      await store.db.query(`UPDATE imports SET state = 'failed' WHERE identifier = $1`, [second.body.result.import_id]);
      const third = await upload();
      expect([third.status, (await upload()).status]).toEqual([200, 429]);
      // An erasure has deleted the file before its import.
      await store.db.query('UPDATE imports SET file_erased_at = now() WHERE identifier = $1', [
        third.body.result.import_id,
      ]);
      expect((await upload()).status).toBe(200);
    },
  );

  test('holds also where two servers note files at the same moment', async () => {
    const own = await makeWorld(store);
    const key: [string, string][] = [
      ['sor_id', own.sor.identifier],
      ['api_key', own.apiKey],
    ];
    const holder = await store.db.connect();
    await holder.query('BEGIN');
    await lockKeptFiles(holder, own.entity.id, own.sor.id);
    const uploads = [await limited(1, 9), await limited(1, 9)].map((to) => send([...key, ['file', CSV]], { to }));
    await lockWaits(store, 2);
    await holder.query('COMMIT');
    holder.release();
    expect((await Promise.all(uploads)).map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 429,
    ]);
  });

  test('counts uploads that are still being received', async () => {
    const quota = new KeptFileQuota(store.db, { bytesPerSor: 100, bytesPerEntity: 150 });
    const [sor, other] = [
      { id: 1_000_001, entityId: world.entity.id },
      { id: 1_000_002, entityId: world.entity.id },
    ];
    await store.db.query('DELETE FROM imports WHERE entity_id = $1', [world.entity.id]);
    const [one, two, third] = [await quota.meter(sor), await quota.meter(sor), await quota.meter(other)];
    one.take(60);
    expect(() => two.take(41)).toThrow('would have over 100 bytes (MILLRACE_KEPT_PER_SOR); 0 are kept. Cancel');
    two.take(40);
    expect(() => third.take(51)).toThrow('would have over 150 bytes (MILLRACE_KEPT_PER_ENTITY); 0 are kept. Cancel');
    await expect(quota.meter(sor)).rejects.toThrow('would have over 100 bytes');
    one.release();
    third.take(100);
    two.release();
    third.release();
    await expect(write(store.db, (tx) => quota.lock(tx, sor, 100))).resolves.toBeUndefined();
  });
});

describe('a file to be fetched', () => {
  test('is accepted, with its address and headers sealed', async () => {
    const headers = { Authorization: 'Bearer of-the-source' };
    const url = 'https://files.example.com/exports/a.csv?X-Amz-Signature=of-the-url';
    const fields = { ...Object.fromEntries(credentials), file_url: url };
    const asJson = await server.call('POST', PATH, {
      body: { ...fields, request_headers: headers, dry_run: true },
      v3: true,
    });
    const asForm = await send(Object.entries({ ...fields, request_headers: JSON.stringify(headers) }));
    const misspelt = await send(Object.entries({ ...fields, dryrun: 'true' }));
    expect([misspelt.status, misspelt.body.error_message]).toEqual([400, 'dryrun: is unknown: did you mean dry_run?']);
    for (const answer of [asJson, asForm]) {
      expect(answer.body).toEqual({
        success: true,
        result: { jid: expect.any(String), import_id: expect.any(String) },
      });
      const job = (await findImport(store.db, world.entity.id, answer.body.result.import_id))!;
      expect(job).toMatchObject({
        state: 'accepted',
        file: null,
        shownUrl: 'https://files.example.com/exports/a.csv?…',
      });
      const { rows } = await store.db.query('SELECT imports::text AS row FROM imports WHERE id = $1', [job.id]);
      expect(rows[0].row).not.toMatch(/of-the-source|of-the-url/);
      const claim = (await claimImport(store.db, world.entity.id, job.id, 'run'))!;
      expect(claim.isPinned).toBe(false);
      const ref = { entityId: world.entity.id, jobId: job.id, generation: claim.generation };
      expect(await findImportSource(store.db, store.secrets, ref)).toEqual({ url, headers, sorId: world.sor.id });
    }
    expect((await findImport(store.db, world.entity.id, asJson.body.result.import_id))!.dryRun).toBe(true);
  });
});

describe('a refused upload leaves nothing behind', () => {
  const stranger: [string, string][] = [
    ['sor_id', 'sor_unknown'],
    ['api_key', 'nonsense'],
  ];
  test.each([
    ['an unknown SoR before the file', 401, 'Invalid sor_id or api_key', () => [...stranger, ['file', CSV]]],
    ['an unknown SoR after the file', 401, 'Invalid sor_id or api_key', () => [['file', CSV], ...stranger]],
    ['a wrong key', 401, 'Invalid sor_id or api_key', () => [credentials[0], ['api_key', 'nonsense'], ['file', CSV]]],
    ['no key', 400, 'api_key: is required', () => [credentials[0], ['file', CSV]]],
    ['no SoR', 400, 'sor_id: is required', () => [credentials[1], ['file', CSV]]],
    [
      'no file',
      400,
      'file: is required: send the file as the web-form part `file`, or its address as file_url',
      () => credentials,
    ],
    ['another name', 400, 'csv: takes no file; send one file, as `file`', () => [...credentials, ['csv', CSV]]],
    ['two files', 400, 'The form has more than one file', () => [...credentials, ['file', CSV], ['file', CSV]]],
    [
      'a bad flag',
      400,
      'skip_email: must be true or false',
      () => [...credentials, ['skip_email', 'perhaps'], ['file', CSV]],
    ],
  ])('for %s', async (_why, status, message, parts) => {
    const refused = await send(parts() as [string, string | Buffer][]);
    expect([refused.status, refused.body.error_message]).toEqual([status, message]);
    expect(await kept()).toEqual(keptBefore);
  });

  test.each([
    ['file_url', { file_url: 'ftp://files.example.com/a.csv' }],
    ['file_url', { file_url: 'https://user:secret@files.example.com/a.csv' }],
    [
      'request_headers',
      { file_url: 'https://files.example.com/a.csv', request_headers: { 'Transfer-Encoding': 'chunked' } },
    ],
    ['request_headers', { file_url: 'https://files.example.com/a.csv', request_headers: 'no JSON' }],
    ['request_headers.X-Number', { file_url: 'https://files.example.com/a.csv', request_headers: { 'X-Number': 1 } }],
    ['request_headers', { request_headers: { 'X-Key': 'k' } }],
    ['redrive_of', { file_url: 'https://files.example.com/a.csv', redrive_of: 'imp_unknown' }],
  ])('for a wrong %s, by the name of the field', async (element, fields) => {
    const refused = await server.call('POST', PATH, { body: { ...Object.fromEntries(credentials), ...fields } });
    expect([refused.status, refused.body.messages?.[0].element]).toEqual([400, element]);
    expect(refused.text).not.toContain('secret');
  });

  test('for a file beside a file_url', async () => {
    const refused = await send([...credentials, ['file_url', 'https://files.example.com/a.csv'], ['file', CSV]]);
    expect([refused.status, refused.body.messages[0].element]).toEqual([400, 'file_url']);
    expect(await kept()).toEqual(keptBefore);
  });

  test('for a key of another SoR, and for a SoR that was deleted', async () => {
    const other = await makeWorld(store);
    expect((await send([credentials[0]!, ['api_key', other.apiKey], ['file', CSV]])).status).toBe(401);
    await server.call('DELETE', `/api/system_of_records/${other.sor.identifier}`, { token: other.token });
    expect(
      (
        await send([
          ['sor_id', other.sor.identifier],
          ['api_key', other.apiKey],
          ['file', CSV],
        ])
      ).status,
    ).toBe(401);
    expect(await kept()).toEqual(keptBefore);
  });

  test('for one that is too large, as it comes or decompressed, or on credit', async () => {
    const limits = { uploadBytes: 500, decompressedBytes: 2_000, unverifiedBytes: 100 };
    const small = await testServer(store, { settings: { limits } });
    const bomb = gzipSync(Buffer.alloc(100_000, 'a'));
    const plain = Buffer.alloc(600, 'a');
    const late: [string, string | Buffer][] = [['file', Buffer.alloc(200, 'a')], ...credentials];
    for (const parts of [[...credentials, ['file', plain]], [...credentials, ['file', bomb]], late]) {
      const refused = await send(parts as [string, string | Buffer][], { to: small });
      expect([refused.status, refused.body.status]).toEqual([413, 'payload_too_large']);
    }
    const fits = () => send([['file', Buffer.alloc(80, 'a')], ...credentials], { to: small });
    expect([(await fits()).status, (await fits()).status]).toEqual([200, 200]);
    expect(await kept()).toHaveLength(keptBefore.length + 2);

    await store.db.query('ALTER TABLE imports ADD CONSTRAINT never CHECK (false) NOT VALID');
    expectFault('POST /api/attribute_values/batch_import');
    expect((await fits()).status).toBe(500);
    await store.db.query('ALTER TABLE imports DROP CONSTRAINT never');
    expect((await fits()).status, 'after a fault of ours its share is free again').toBe(200);
  });

  test('for fields that are too large together', async () => {
    const small = await testServer(store, { settings: { limits: { bodyBytes: 5_000 } } });
    const long: [string, string][] = Array.from({ length: 60 }, (_, index) => [`field_${index}`, 'x'.repeat(100)]);
    const refused = await send([...credentials, ...long, ['file', CSV]], { to: small });
    expect([refused.status, refused.body.error_message]).toEqual([
      413,
      'The fields of the form are too large together',
    ]);
    expect(await kept()).toEqual(keptBefore);
  });
});

describe('over a socket', () => {
  let port: number;
  beforeAll(async () => {
    await server.app.listen({ port: 0, host: '127.0.0.1' });
    ({ port } = server.app.server.address() as AddressInfo);
  });

  const open = (parts: [string, string | Buffer][], length: number) => {
    const { body, headers } = webForm(parts);
    const socket = createConnection(port, '127.0.0.1');
    socket.on('error', () => {});
    const head = ['Host: x', `Content-Type: ${headers['content-type']}`, `Content-Length: ${length}`];
    socket.write(`POST ${PATH} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    socket.write(body.subarray(0, body.length - 60));
    return socket;
  };

  test('an upload whose caller hangs up in the middle leaves nothing behind', async () => {
    const socket = open([...credentials, ['file', Buffer.alloc(300_000, 'a')]], 1_000_000);
    await waitFor('the upload to be under way', async () => (await unfinished()).length > 0);
    socket.destroy();
    await waitFor('the unfinished file to go', async () => (await unfinished()).length === 0);
    expect(await kept()).toEqual(keptBefore);
  });

  test('a wrong key before the file is refused while the file still comes', async () => {
    const wrong: [string, string][] = [
      ['sor_id', 'sor_unknown'],
      ['api_key', 'nonsense'],
    ];
    const socket = open([...wrong, ['file', Buffer.alloc(300_000, 'a')]], 1_000_000_000);
    const [reply] = (await once(socket, 'data')) as [Buffer];
    expect(String(reply)).toMatch(/^HTTP\/1.1 401 /);
    socket.destroy();
  });

  const unfinished = () => readdir(`${store.filesFolder}/.unfinished`).catch(() => []);
});
