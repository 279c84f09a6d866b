import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts by AES-256-GCM: nonce, ciphertext, tag in base64url, bound to `boundTo`. */
export function encrypt(key: Buffer, value: Buffer, boundTo: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(boundTo));
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Throws for text that `encrypt` did not make with this key and `boundTo`. */
export function decrypt(key: Buffer, sealed: string, boundTo: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(tag);
  return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), cipher.final()]);
}
