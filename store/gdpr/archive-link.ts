import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../core/secrets.ts';
import type { GdprPerson, GdprRequest } from './request-record.ts';

/** What a link is made of: the request, whose archive of it, and where that lies. */
type ArchiveOf = { request: Pick<GdprRequest, 'identifier'>; person: Pick<GdprPerson, 'ordinal' | 'archive'> };

/**
 * Where a person's archive can be downloaded without a login, for as long as their request exists: an address that
 * nobody can guess, under the server's look-up key, and that names nobody. Null while there is none.
 */
export function archiveUrl(
  publicUrl: string,
  secrets: Secrets,
  request: ArchiveOf['request'],
  person: ArchiveOf['person'],
): string | null {
  const signature = signatureOf(secrets, { request, person });
  return (
    signature &&
    `${publicUrl}/api/gdpr/downloads/${request.identifier}/${person.ordinal}/${signature.toString('base64url')}`
  );
}

/** Whether an address is one that `archiveUrl` gave for this person's archive as it is now. */
export function isArchiveSignature(secrets: Secrets, of: ArchiveOf, shown: string): boolean {
  const signature = signatureOf(secrets, of);
  const claimed = Buffer.from(shown, 'base64url');
  return signature !== null && claimed.length === signature.length && timingSafeEqual(claimed, signature);
}

function signatureOf(secrets: Secrets, { request, person: { ordinal, archive } }: ArchiveOf): Buffer | null {
  return archive && secrets.lookup(`archive/${request.identifier}/${ordinal}/${archive.key}`);
}
