import { createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { EXPORT_FORMATS } from './export-data-type.ts';

const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();

const file = z.object({
  key: z.string().min(1), part: z.int().positive(), rows: count,
  /** As it lies in the bucket. */
  bytes: count, sha256,
  /** Compressed, before encryption. */
  content_bytes: count, content_sha256: sha256,
});

const dataType = z.object({
  type: z.string(),
  /** Whether the same window, exported again, gives the same rows. */
  repeatable: z.boolean(),
  columns: z.array(z.string()), rows: count, expected: count, files: z.array(file),
});

const signature = z.object({ algorithm: z.literal('Ed25519'), key_id: z.string(), value: z.string() });

const unsigned = z.object({
  version: z.literal(1),
  exporter: z.string(), exporter_name: z.string(), entity: z.string(), run: z.string(), cause: z.string(),
  window: z.object({
    /** `received`: by when it came in; `happened`: by the time of the events. */
    kind: z.enum(['received', 'happened']),
    /** Null: all there is before the end. */
    start: instant.nullable(),
    end: instant,
  }),
  generation: z.int().positive(),
  written_at: instant,
  format: z.enum(EXPORT_FORMATS), compression: z.enum(['gzip', 'none']), include_headers: z.boolean(),
  encryption: z.object({ type: z.string() }).nullable(),
  types: z.array(dataType),
  rows: count, bytes: count,
});

/** What one run wrote, as `manifest.json` tells it. Members that it does not know are dropped. */
export const manifestSchema = unsigned.extend({ signature });

/** What is signed: all of it but its signature. */
export type UnsignedManifest = z.infer<typeof unsigned>;
export type ExportManifest = z.infer<typeof manifestSchema>;

/** A public key as `/.well-known/jwks.json` has it (RFC 8037); `kid` is its thumbprint (RFC 7638). */
const signingKey = z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().regex(/^[\w-]{43}$/), kid: z.string() });
export type SigningKey = z.infer<typeof signingKey>;

/** The keys of a JWK set (RFC 7517) that can have signed a manifest; undefined for what is no such set. */
export function readSigningKeys(jwks: unknown): SigningKey[] | undefined {
  const { data } = z.object({ keys: z.array(z.unknown()) }).safeParse(jwks);
  return data?.keys.flatMap((key) => signingKey.safeParse(key).data ?? []);
}

/** The manifest with its signature over the canonical form (RFC 8785) of all the rest. */
export function signManifest(manifest: UnsignedManifest, sign: (bytes: Buffer) => { keyId: string; value: string }): ExportManifest {
  const { keyId, value } = sign(canonicalBytes(manifest));
  return { ...manifest, signature: { algorithm: 'Ed25519', key_id: keyId, value } };
}

/** `unknown_key`: none of the keys given made it, so nothing is known of it. */
export type SignatureState = 'valid' | 'invalid' | 'unknown_key' | 'unsigned';

/**
 * Whether one of these keys signed a manifest. It is taken as JSON.parse gave it, not as the schema did: members that the schema
 * does not know are signed, too.
 */
export function verifyManifest(manifest: object, keys: readonly SigningKey[]): SignatureState {
  const { signature: given, ...signed } = manifest as Record<string, unknown>;
  const { data } = signature.safeParse(given);
  if (!data) return 'unsigned';
  const key = keys.find(({ kid }) => kid === data.key_id);
  if (!key) return 'unknown_key';
  const { kty, crv, x } = key;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  return verify(null, canonicalBytes(signed), publicKey, Buffer.from(data.value, 'base64url')) ? 'valid' : 'invalid';
}

/** The one way to write a JSON value down that everyone comes to (RFC 8785). */
function canonicalBytes(value: object): Buffer {
  return Buffer.from(canonicalize(value)!);
}
