import { createCipheriv, randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readSigningKeys, signDocument, verifyDocument } from '../../../domain/core/signed-document.ts';
import type { UnsignedManifest } from '../../../domain/exports/export-manifest.ts';
import { openSecrets, type Secrets } from '../../../store/core/secrets.ts';
import { makeSigner } from '../../../store/core/secrets.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { useServer } from '../../server/http/use-server.ts';

const manifest: UnsignedManifest = {
  version: 1,
  exporter: 'exp_1',
  exporter_name: 'Daily',
  entity: 'ent_1',
  run: 'run_1',
  cause: 'schedule',
  window: { kind: 'received', start: null, end: '2026-11-20T23:00:00Z' },
  generation: 1,
  written_at: '2026-11-21T01:17:05Z',
  format: 'csv',
  compression: 'gzip',
  include_headers: false,
  encryption: null,
  types: [],
  rows: 0,
  bytes: 0,
};

describe('the signing key', () => {
  let store: TestStore;

  beforeAll(async () => {
    store = await testStore();
  });

  const reopen = (): Promise<Secrets> => openSecrets(store.db, store.files, store.secretKey);
  const path = (id: number) => join(store.filesFolder, 'keys', `signature-${id}`);
  const signed = () => signDocument(manifest, store.secrets.sign);
  const insertKey = (id: number, wrapped: string) =>
    store.db.query('INSERT INTO server_keys (name, id, wrapped) VALUES ($1, $2, $3)', ['signature', id, wrapped]);

  it("signs what its published half verifies, under an id that tells it from other servers' keys", async () => {
    expect(verifyDocument(signed(), store.secrets.signingKeys())).toBe('valid');
    const other = await testStore();
    expect(verifyDocument(signed(), other.secrets.signingKeys())).toBe('unknown_key');
  });

  it('has the thumbprint of RFC 7638 for its id, as the example of RFC 8037 has it', () => {
    const seed = Buffer.from('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', 'base64url');
    expect(makeSigner([seed]).signingKeys()).toEqual([
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        use: 'sig',
        alg: 'EdDSA',
        kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
      },
    ]);
  });

  it('is the same after a restart, and when the database or the file store has lost it', async () => {
    const [key] = store.secrets.signingKeys();
    expect((await reopen()).signingKeys()).toEqual([key]);
    await store.db.query("DELETE FROM server_keys WHERE name = 'signature'");
    expect((await reopen()).signingKeys()).toEqual([key]);
    await rm(path(1));
    expect((await reopen()).signingKeys()).toEqual([key]);
    expect(await readFile(path(1), 'utf8')).toBe(
      (await store.db.query<{ wrapped: string }>("SELECT wrapped FROM server_keys WHERE name = 'signature'")).rows[0]!
        .wrapped,
    );
  });

  it('lies nowhere unwrapped', async () => {
    for (const name of await readdir(join(store.filesFolder, 'keys'))) {
      const wrapped = Buffer.from(await readFile(join(store.filesFolder, 'keys', name), 'utf8'), 'base64url');
      expect(wrapped.length).toBe(12 + 32 + 16);
    }
    expect((await store.db.query('SELECT 1 FROM server_keys')).rowCount).toBe(4);
  });

  describe('that a newer one follows', () => {
    let newer: Secrets;
    let old: ReturnType<typeof signed>;

    beforeEach(async () => {
      await store.db.query("DELETE FROM server_keys WHERE name = 'signature' AND id > 1");
      await rm(path(2), { force: true });
      old = signed();
      await insertKey(2, wrapKey(store.secretKey, 2));
      newer = await reopen();
    });

    it('stays published, and what it signed stays valid', () => {
      const [first, second] = newer.signingKeys();
      expect(newer.signingKeys()).toHaveLength(2);
      expect(second).toEqual(store.secrets.signingKeys()[0]);
      expect(newer.sign(Buffer.from('x')).keyId).toBe(first!.kid);
      expect(verifyDocument(old, newer.signingKeys())).toBe('valid');
      expect(verifyDocument(signDocument(manifest, newer.sign), newer.signingKeys())).toBe('valid');
    });

    it('stays so when the database has lost both', async () => {
      await store.db.query("DELETE FROM server_keys WHERE name = 'signature'");
      expect((await reopen()).signingKeys()).toEqual(newer.signingKeys());
    });
  });
});

describe('GET /.well-known/jwks.json', () => {
  const { store, server } = useServer();

  it('shows the public keys to everyone, bare, and lets them be kept for an hour', async () => {
    const { status, body, headers } = await server.call('GET', '/.well-known/jwks.json');
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('public, max-age=3600');
    expect(Object.keys(body as object)).toEqual(['keys']);
    const keys = readSigningKeys(body)!;
    expect(keys).toHaveLength(1);
    expect(JSON.stringify(body)).not.toContain('"d"');
    expect(verifyDocument(signDocument(manifest, store.secrets.sign), keys)).toBe('valid');
  });
});

/** As a newer version that can rotate would wrap a key. */
function wrapKey(secretKey: Buffer, id: number): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce).setAAD(Buffer.from(`server_keys/signature/${id}`));
  return Buffer.concat([nonce, cipher.update(randomBytes(32)), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}
