/** Signs documents, and checks their signatures (Ed25519). */
import { createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { documentSignature } from './document-signature.ts';

export type Signed<T extends object> = T & { signature: z.infer<typeof documentSignature> };

/** Signs with the server's newest key; the signature is in base64url. */
export type Sign = (bytes: Buffer) => { keyId: string; value: string };

/** A public key as `/.well-known/jwks.json` has it (RFC 8037); `kid` is its thumbprint (RFC 7638). */
const signingKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().regex(/^[\w-]{43}$/),
  kid: z.string(),
});
export type SigningKey = z.infer<typeof signingKey>;

/** Returns the keys of a JWK set (RFC 7517) that can sign documents; undefined for any other value. */
export function readSigningKeys(jwks: unknown): SigningKey[] | undefined {
  const { data } = z.object({ keys: z.array(z.unknown()) }).safeParse(jwks);
  return data?.keys.flatMap((key) => signingKey.safeParse(key).data ?? []);
}

export function signDocument<T extends object>(document: T, sign: Sign): Signed<T> {
  const { keyId, value } = sign(canonicalBytes(document));
  return { ...document, signature: { algorithm: 'Ed25519', key_id: keyId, value } };
}

/** `unknown_key`: signed by none of the given keys, so neither valid nor invalid. */
export type SignatureState = 'valid' | 'invalid' | 'unknown_key' | 'unsigned';

/** Checks a signature. Pass the result of JSON.parse, not a schema's: members unknown to a schema are signed, too. */
export function verifyDocument(document: object, keys: readonly SigningKey[]): SignatureState {
  const { signature: given, ...signed } = document as Record<string, unknown>;
  const { data } = documentSignature.safeParse(given);
  if (!data) return 'unsigned';
  const key = keys.find(({ kid }) => kid === data.key_id);
  if (!key) return 'unknown_key';
  const { kty, crv, x } = key;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  return verify(null, canonicalBytes(signed), publicKey, Buffer.from(data.value, 'base64url')) ? 'valid' : 'invalid';
}

/** Returns the canonical form of a JSON value (RFC 8785). */
function canonicalBytes(value: object): Buffer {
  return Buffer.from(canonicalize(value)!);
}
