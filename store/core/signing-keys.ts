import { createHash, createPrivateKey, createPublicKey, sign as signBytes } from 'node:crypto';
import type { SigningKey } from '../../domain/core/signed-document.ts';

/** An Ed25519 private key of 32 bytes, as PKCS#8 has it behind this (RFC 8410). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A public key as it is published. Its id is its thumbprint: no other server's key has it. */
type PublishedKey = SigningKey & { use: 'sig'; alg: 'EdDSA' };

export type Signer = {
  /** Signs with the newest key; the signature in base64url. */
  sign(bytes: Buffer): { keyId: string; value: string };
  /** All there ever were, the newest first: what was signed by an older one can be verified for ever. */
  signingKeys(): PublishedKey[];
};

/** `keys`: 32 random bytes each, the newest last; at least one. */
export function makeSigner(keys: readonly Buffer[]): Signer {
  const privateKeys = keys
    .toReversed()
    .map((key) => createPrivateKey({ key: Buffer.concat([PKCS8_START, key]), format: 'der', type: 'pkcs8' }));
  const published = privateKeys.map((key) => publish(createPublicKey(key).export({ format: 'jwk' }).x!));
  return {
    sign: (bytes) => ({
      keyId: published[0]!.kid,
      value: signBytes(null, bytes, privateKeys[0]!).toString('base64url'),
    }),
    signingKeys: () => published,
  };
}

function publish(x: string): PublishedKey {
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}
