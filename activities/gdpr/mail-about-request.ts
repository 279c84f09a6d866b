/** Mails about privacy requests: one for each kind, and digests of requests from devices. */
import { type DigestLine, gdprMail, type GdprMailKind, type GdprReport } from '../../domain/gdpr/gdpr-mail.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { mailText, MAX_NAME, oneLine, thousands } from '../../domain/text/mail-text.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
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
  const { id, identifier } = await write(deps.db, (tx) => upsertGdprMail(tx, request, kind, to));
  if (to.length === 0) return null;
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
  await write(deps.db, (tx) => updateDigestRecipients(tx, digest, to));
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

/** Maximum number of requests that a digest names of each kind. */
const LINES_OF_A_KIND = 50;

/** Returns the mail about several requests from an app's devices. `link` leads to the list of all. */
function gdprDigest(lines: readonly DigestLine[], link: string): { subject: string; text: string } {
  const groups = DIGEST_GROUPS.map(({ kind, type, one, many, advice }) => {
    const of = lines.filter((line) => line.kind === kind && line.type === type);
    return { of, title: `${thousands(of.length)} ${of.length === 1 ? one : many}`, advice };
  }).filter(({ of }) => of.length > 0);
  const subject = `Privacy requests from devices: ${groups.map(({ title }) => title).join(', ')}`;
  const parts = [
    ['Devices of an app made these requests without a user token.'],
    ...groups.map(({ of, title, advice }) => [
      `${title}. ${advice}`,
      ...of
        .slice(0, LINES_OF_A_KIND)
        .map(
          ({ identifier, archive }) =>
            `  ${oneLine(identifier, MAX_NAME)}${archive === null ? '' : `: ${oneLine(archive)}`}`,
        ),
      ...(of.length > LINES_OF_A_KIND
        ? [`  and ${thousands(of.length - LINES_OF_A_KIND)} more, which the list names`]
        : []),
    ]),
    ['All of them: npx --no-install millrace gdpr requests, or', link],
  ];
  return { subject, text: mailText(parts) };
}

const DIGEST_GROUPS: { kind: GdprMailKind; type: 'access' | 'delete'; one: string; many: string; advice: string }[] = [
  {
    kind: 'near_deadline',
    type: 'delete',
    one: 'deletion near or past its 30 days',
    many: 'deletions near or past their 30 days',
    advice: 'They are not treated; their status says what keeps them.',
  },
  {
    kind: 'near_deadline',
    type: 'access',
    one: 'access near or past its 30 days',
    many: 'accesses near or past their 30 days',
    advice: 'They are not treated; their status says what keeps them.',
  },
  {
    kind: 'waiting',
    type: 'delete',
    one: 'deletion waits for approval',
    many: 'deletions wait for approval',
    advice:
      'Nothing is deleted until a user approves them: npx --no-install millrace gdpr approve <request>, or decline <request>.',
  },
  {
    kind: 'held',
    type: 'delete',
    one: 'deletion with a person on hold',
    many: 'deletions with a person on hold',
    advice: 'A person on hold is deleted once nothing holds them any more.',
  },
  {
    kind: 'treated',
    type: 'access',
    one: 'access treated',
    many: 'accesses treated',
    advice: 'Who has a link can download what it leads to. Pass each on to its person only.',
  },
  {
    kind: 'treated',
    type: 'delete',
    one: 'deletion treated',
    many: 'deletions treated',
    advice: 'A second look found nothing of their devices any more.',
  },
];
