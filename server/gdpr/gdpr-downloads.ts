/** The route that serves a person's archive by its signed link. */
import * as api from '../../api/gdpr/gdpr-receipts.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { openFile } from '../../store/core/open-file.ts';
import { isArchiveSignature } from '../../store/gdpr/archives.ts';
import { findArchive, type FoundArchive } from '../../store/gdpr/across-entities.ts';
import { bare, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const downloadArchive = route(api.downloadArchive, async ({ params, address }, { db, files, secrets }) => {
  const find = async (tx: Queryable) => {
    const found = /^[1-9]\d{0,8}$/.test(params.ordinal)
      ? await findArchive(tx, params.request_id, Number(params.ordinal))
      : null;
    return found && isArchiveSignature(secrets, found, params.signature) ? found : null;
  };
  const { request, person } = await write(db, async (tx) => {
    const found = (await find(tx)) ?? refuseUnknown();
    await insertAuditEntry(tx, found.entityId, {
      actorKind: 'system',
      address,
      action: 'read',
      subjectKind: 'gdpr_request',
      subject: found.request.identifier,
      customerHash: found.person.subject,
      details: { archive: found.person.ordinal },
    });
    return found;
  });
  const { key, bytes: sizeBytes } = person.archive!;
  const bytes = await openFile(files, key);
  if (bytes) return new Reply(bytes, 200, headersOf({ request, person }, sizeBytes));
  // An erasure or the request's end has removed it: the next answer says so. Else it is lost.
  return (await find(db)) ? refuseUnknown() : bare({ success: true, result: { state: 'removed' } }, 202);
});

/** The file's name says nothing about its person, and no cache keeps it. */
function headersOf(
  { request, person }: Pick<FoundArchive, 'request' | 'person'>,
  bytes: number,
): Record<string, string> {
  return {
    'content-type': 'application/zip',
    'content-length': String(bytes),
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="personal-data-${request.identifier}-${person.ordinal}.zip"`,
  };
}

function refuseUnknown(): never {
  return refuse(
    404,
    'not_found',
    'This link leads to nothing, or no longer: archives are kept for a week after the request was treated. Ask for the data again.',
  );
}

export const gdprDownloadRoutes: Route[] = [downloadArchive];
