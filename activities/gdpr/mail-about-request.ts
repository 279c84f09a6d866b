/** Mails about privacy requests: one for each kind, and digests of requests from devices. */
import { DAY_MS } from '../../domain/time/durations.ts';
import {
  type DigestLine,
  gdprDigest,
  gdprMail,
  type GdprMailKind,
  type GdprReport,
} from '../../domain/gdpr/gdpr-mail.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { listAppsById } from '../../store/apps/apps.ts';
import { write } from '../../store/core/database.ts';
import type { Digest } from '../../store/gdpr/across-entities.ts';
import { archiveUrl } from '../../store/gdpr/archives.ts';
import {
  type DigestEntry,
  findRequesterEmail,
  listAppRecipients,
  listDigestEntries,
  listMembersToNotify,
  settleDigest,
  updateDigestRecipients,
  updateNoRecipients,
  updateRecipients,
  upsertGdprMail,
} from '../../store/gdpr/mails.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { countPeopleOfRequests, findGdprRequestById, listGdprPeople } from '../../store/gdpr/requests.ts';
import { type MailDependencies, mailOnce } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

type GdprMailDependencies = MailDependencies & Pick<Dependencies, 'secrets'>;

/** Days that the law gives for a request (GDPR, article 12 (3): one month). */
const DAYS = 30;

/**
 * Mails the requester, or the addresses that a device's app names; once for each kind. Sends nothing if no mail is
 * wanted, no recipient may see such requests, or a digest covers the request.
 */
export async function mailAboutRequest(
  deps: GdprMailDependencies,
  { entityId, jobId }: Pick<JobRef, 'entityId' | 'jobId'>,
  kind: GdprMailKind,
): Promise<RetryAfter | null> {
  const request = await findGdprRequestById(deps.db, entityId, jobId);
  if (!request || request.skipEmail || request.isUnvouched) return null;
  const to = await recipientsOf(deps, request, kind);
  const { id, identifier } = await write(deps.db, async (tx) => {
    const mail = await upsertGdprMail(tx, request, kind);
    await updateRecipients(tx, request, mail.id, to);
    return mail;
  });
  if (to.length === 0) {
    await write(deps.db, (tx) => updateNoRecipients(tx, entityId, id));
    return null;
  }
  const { subject, text } = gdprMail(await reportOf(deps, request, kind));
  return mailOnce(deps, { table: 'gdpr_mails', entityId, id, identifier }, { to, subject, text }, 'gdpr');
}

/** Sends one mail about all requests of a digest. A single request has the words of its own mail. */
export async function mailDigest(deps: GdprMailDependencies, digest: Digest): Promise<RetryAfter | null> {
  const { entityId, id, identifier } = digest;
  const entries = await listDigestEntries(deps.db, digest);
  const [first] = entries;
  const isLate = entries.some(({ kind }) => kind === 'near_deadline');
  const to = first ? await recipientsOf(deps, first.request, isLate ? 'near_deadline' : first.kind) : [];
  const told = entries.map(({ mailId }) => mailId);
  await write(deps.db, async (tx) => {
    await updateDigestRecipients(tx, digest, to);
    if (to.length === 0) await updateNoRecipients(tx, entityId, id);
  });
  if (!first || to.length === 0) return null;
  const { subject, text } =
    entries.length === 1
      ? gdprMail(await reportOf(deps, first.request, first.kind))
      : gdprDigest(await linesOf(deps, entries), await listLink(deps, first.request));
  const again = await mailOnce(deps, { table: 'gdpr_mails', entityId, id, identifier }, { to, subject, text }, 'gdpr');
  await write(deps.db, (tx) => settleDigest(tx, digest, told));
  return again;
}

async function linesOf(deps: GdprMailDependencies, entries: readonly DigestEntry[]): Promise<DigestLine[]> {
  const lines: DigestLine[] = [];
  for (const { kind, request } of entries) {
    const { type, identifier } = request;
    const archives = kind === 'treated' && type === 'access' ? await listArchives(deps, request) : [];
    lines.push({ kind, type, identifier, archive: archives[0]?.told ?? null });
  }
  return lines;
}

async function listLink({ db, publicUrl }: GdprMailDependencies, { entityId, appId }: GdprRequest): Promise<string> {
  const app = appId === null ? undefined : (await listAppsById(db, entityId, [appId])).get(appId);
  return app ? `${publicUrl}/api/apps/${app.identifier}/privacy_requests` : `${publicUrl}/api/gdpr/requests?source=sdk`;
}

async function recipientsOf({ db }: GdprMailDependencies, request: GdprRequest, kind: GdprMailKind): Promise<string[]> {
  if (request.source !== 'sdk') {
    const email = await findRequesterEmail(db, request);
    return email === null ? [] : [email];
  }
  const named = await listAppRecipients(db, request);
  // The deadline is near and the app names no address: mail all members who may act on the request.
  return named.length === 0 && kind === 'near_deadline' ? listMembersToNotify(db, request.entityId) : named;
}

async function reportOf(deps: GdprMailDependencies, request: GdprRequest, kind: GdprMailKind): Promise<GdprReport> {
  const { identifier, type, source, receivedAt, expiresAt } = request;
  const passedMs = Date.now() - receivedAt.getTime();
  const counted = await countPeopleOfRequests(deps.db, request.entityId, [request.id]);
  const { people, held } = counted.get(request.id) ?? { people: 0, held: 0 };
  return {
    kind,
    identifier,
    type,
    isFromDevice: source === 'sdk',
    people,
    held,
    archives: kind === 'treated' && type === 'access' ? await listArchives(deps, request) : [],
    receivedAt: receivedAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    daysLeft: Math.max(0, Math.floor((DAYS * DAY_MS - passedMs) / DAY_MS)),
    link: `${deps.publicUrl}/api/gdpr/requests/${identifier}`,
    receiptLink: `${deps.publicUrl}/api/gdpr/requests/${identifier}/receipt`,
  };
}

/** Returns a link, or a sentence of ours, for each person. People who were erased meanwhile have none. */
async function listArchives(
  { db, secrets, publicUrl }: GdprMailDependencies,
  request: GdprRequest,
): Promise<GdprReport['archives']> {
  const people = await listGdprPeople(db, request.entityId, request.id);
  return people.map((person) => ({
    ordinal: person.ordinal,
    told: archiveUrl(publicUrl, secrets, request, person) ?? person.message ?? '',
  }));
}
