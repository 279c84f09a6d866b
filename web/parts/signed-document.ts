/**
 * Checks a signed document in the browser, by WebCrypto: the same check as that of `millrace verify`
 * (domain/core/signed-document.ts), which needs Node.
 */
import canonicalize from 'canonicalize';

/** A public key as `/.well-known/jwks.json` has it. */
export type PublishedKey = { kty: 'OKP'; crv: 'Ed25519'; x: string; kid: string };

/** `unknown_key`: signed by none of the published keys. `unsupported`: this browser has no Ed25519. */
export type SignatureState = 'valid' | 'invalid' | 'unknown_key' | 'unsigned' | 'unsupported';

type Signature = { algorithm: 'Ed25519'; key_id: string; value: string };

/** Checks the signature over the canonical form (RFC 8785) of the rest. Takes what JSON.parse returned. */
export async function verifyDocument(document: object, keys: readonly PublishedKey[]): Promise<SignatureState> {
  const signature = signatureOf(document);
  if (signature === null) return 'unsigned';
  const key = keys.find(({ kid }) => kid === signature.key_id);
  if (key === undefined) return 'unknown_key';
  const value = bytesOf(signature.value);
  const signed = Object.fromEntries(Object.entries(document).filter(([name]) => name !== 'signature'));
  const text = canonicalize(signed);
  if (value === null || text === undefined) return 'invalid';
  try {
    const { kty, crv, x } = key;
    const publicKey = await crypto.subtle.importKey('jwk', { kty, crv, x }, { name: 'Ed25519' }, false, ['verify']);
    const isValid = await crypto.subtle.verify('Ed25519', publicKey, value, new TextEncoder().encode(text));
    return isValid ? 'valid' : 'invalid';
  } catch {
    return 'unsupported';
  }
}

/** Returns the signature that a document carries; null if it has none of the known form. */
export function signatureOf(document: object): Signature | null {
  const { signature } = document as { signature?: Partial<Signature> | null };
  if (typeof signature !== 'object' || signature === null) return null;
  const { algorithm, key_id: keyId, value } = signature;
  return algorithm === 'Ed25519' && typeof keyId === 'string' && typeof value === 'string'
    ? { algorithm, key_id: keyId, value }
    : null;
}

/** Returns the bytes of a text in base64url; null if it is none. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0));
  } catch {
    return null;
  }
}
