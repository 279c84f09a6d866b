import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSigningKeys, signDocument, verifyDocument } from '../../../domain/core/signed-document.ts';
import { manifestSchema, type UnsignedManifest } from '../../../domain/exports/export-manifest.ts';

const SHA = 'ab'.repeat(32);

const manifest: UnsignedManifest = {
  version: 1,
  exporter: 'exp_1',
  exporter_name: 'Tägliche Ablage 🪣',
  entity: 'ent_1',
  run: 'run_1',
  cause: 'schedule',
  window: { kind: 'received', start: null, end: '2026-11-20T23:00:00Z' },
  generation: 3,
  written_at: '2026-11-21T01:17:05.250Z',
  format: 'csv',
  compression: 'gzip',
  include_headers: false,
  encryption: { type: 'AES-256-CBC' },
  types: [
    {
      type: 'logs',
      repeatable: true,
      columns: ['event_id', 'name'],
      rows: 12,
      expected: 12,
      files: [
        {
          key: 'daily/exp_1/w/0003/logs-0001.csv.gz.enc',
          part: 1,
          rows: 12,
          bytes: 320,
          sha256: SHA,
          content_bytes: 300,
          content_sha256: SHA,
        },
      ],
    },
  ],
  rows: 12,
  bytes: 320,
};

function signer(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    sign: (bytes: Buffer) => ({ keyId: kid, value: sign(null, bytes, privateKey).toString('base64url') }),
    jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'EdDSA' },
  };
}

const ours = signer('ours');
const keys = readSigningKeys({ keys: [signer('older').jwk, ours.jwk] })!;
const signed = signDocument(manifest, ours.sign);

/** As another program may write it: members in another order, other spaces. */
const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, shuffled(member)]),
  );
};

/** The path of each string, number, flag and null. */
function leaves(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([name, member]) => leaves(member, [...path, name]));
}

describe('a manifest', () => {
  it('is valid as it was signed, whatever the order of its members and the spaces', () => {
    expect(manifestSchema.parse(signed)).toEqual(signed);
    expect(verifyDocument(JSON.parse(JSON.stringify(shuffled(signed), null, 4)) as object, keys)).toBe('valid');
  });

  it('is invalid once anything in it is another', () => {
    const places = leaves(manifest);
    expect(places.length).toBeGreaterThan(25);
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), (path, other) => {
        const changed = structuredClone(signed) as unknown as Record<string, unknown>;
        const holder = path
          .slice(0, -1)
          .reduce<Record<string, unknown>>((at, name) => at[name] as Record<string, unknown>, changed);
        const last = path.at(-1)!;
        fc.pre(JSON.stringify(holder[last]) !== JSON.stringify(other));
        holder[last] = other;
        expect(verifyDocument(changed, keys)).toBe('invalid');
      }),
    );
  });

  it('is invalid with a member more, and valid with one that was signed and that this version does not know', () => {
    expect(verifyDocument({ ...signed, more: 1 }, keys)).toBe('invalid');
    const newer = signDocument({ ...manifest, more: { rows: [1] } } as UnsignedManifest, ours.sign);
    expect(verifyDocument(newer, keys)).toBe('valid');
    expect(manifestSchema.parse(newer)).not.toHaveProperty('more');
  });

  it("of another's key is not taken for ours", () => {
    expect(verifyDocument(signDocument(manifest, signer('other').sign), keys)).toBe('unknown_key');
    expect(verifyDocument(signDocument(manifest, signer('ours').sign), keys)).toBe('invalid');
    expect(verifyDocument(manifest, keys)).toBe('unsigned');
    expect(verifyDocument({ ...signed, signature: { ...signed.signature, value: '' } }, keys)).toBe('invalid');
  });

  it('that lacks something, or has it in another shape, is none', () => {
    for (const wrong of [
      { ...signed, version: 2 },
      { ...signed, rows: -1 },
      { ...signed, signature: undefined },
      { ...signed, written_at: 'yesterday' },
      { ...signed, types: [{ ...manifest.types[0], files: [{ ...manifest.types[0]!.files[0], sha256: 'x' }] }] },
    ])
      expect(manifestSchema.safeParse(wrong).success).toBe(false);
  });
});

describe('a set of keys', () => {
  it('gives those that can have signed, and is refused where it is none', () => {
    const rsa = { kty: 'RSA', n: 'x', e: 'AQAB', kid: 'r' };
    expect(readSigningKeys({ keys: [rsa, ours.jwk, { ...ours.jwk, x: 'short' }] })?.map(({ kid }) => kid)).toEqual([
      'ours',
    ]);
    expect(readSigningKeys({ keys: [] })).toEqual([]);
    expect(readSigningKeys([ours.jwk])).toBeUndefined();
    expect(readSigningKeys('<html>')).toBeUndefined();
  });
});
