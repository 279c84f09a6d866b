import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../core/secrets.ts';

/** Returns a file's address: signed with the server's look-up key, it needs no login and cannot be guessed. */
export function fileUrl(publicUrl: string, secrets: Secrets, identifier: string): string {
  return `${publicUrl}/api/files/${identifier}?token=${signatureOf(secrets, identifier).toString('base64url')}`;
}

export function isFileToken(secrets: Secrets, identifier: string, shown: string): boolean {
  const [signature, claimed] = [signatureOf(secrets, identifier), Buffer.from(shown, 'base64url')];
  return claimed.length === signature.length && timingSafeEqual(claimed, signature);
}

function signatureOf(secrets: Secrets, identifier: string): Buffer {
  return secrets.lookup(`file/${identifier}`);
}
