import { gdprMail, type GdprMailKind, type GdprReport } from '../../domain/gdpr/gdpr-mail.ts';
import { write } from '../../store/core/database.ts';
import { archiveUrl } from '../../store/gdpr/archive-link.ts';
import {
  findRequesterEmail, listAppRecipients, listMembersToTell, updateNobodyTold, updateRecipients, upsertGdprMail,
} from '../../store/gdpr/mails.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { countPeopleOfRequests, findGdprRequestById, listGdprPeople } from '../../store/gdpr/requests.ts';
import type { Again } from '../core/again.ts';
import { type MailNeeds, mailOnce } from '../core/mail-once.ts';
import type { Needs } from '../needs.ts';

type GdprMailNeeds = MailNeeds & Pick<Needs, 'secrets'>;

/** What the law gives for a request (GDPR, article 12 (3): one month). */
const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Mails the user who asked, or for a request from a device the addresses that the app names; once for each kind. Sends nothing where no
 * mail is wanted, or none of them may see such requests any more.
 */
export async function mailGdpr(
  needs: GdprMailNeeds, { entityId, requestId }: { entityId: number; requestId: number }, kind: GdprMailKind,
): Promise<Again | null> {
  const request = await findGdprRequestById(needs.db, entityId, requestId);
  if (!request || request.skipEmail) return null;
  const to = await recipientsOf(needs, request, kind);
  const { id, identifier } = await write(needs.db, async (tx) => {
    const mail = await upsertGdprMail(tx, request, kind);
    await updateRecipients(tx, request, mail.id, to);
    return mail;
  });
  if (to.length === 0) {
    await write(needs.db, (tx) => updateNobodyTold(tx, entityId, id));
    return null;
  }
  const { subject, text } = gdprMail(await reportOf(needs, request, kind));
  return mailOnce(needs, { table: 'gdpr_mails', entityId, id, identifier }, { to, subject, text }, 'gdpr');
}

async function recipientsOf({ db }: GdprMailNeeds, request: GdprRequest, kind: GdprMailKind): Promise<string[]> {
  if (request.source !== 'sdk') {
    const email = await findRequesterEmail(db, request);
    return email === null ? [] : [email];
  }
  const named = await listAppRecipients(db, request);
  // The time that the law gives runs out though the app names no address: then the mail goes to all who may do something about it.
  return named.length === 0 && kind === 'near_deadline' ? listMembersToTell(db, request.entityId) : named;
}

async function reportOf(needs: GdprMailNeeds, request: GdprRequest, kind: GdprMailKind): Promise<GdprReport> {
  const { identifier, type, source, receivedAt, expiresAt } = request;
  const passedMs = Date.now() - receivedAt.getTime();
  const counted = await countPeopleOfRequests(needs.db, request.entityId, [request.id]);
  const { people, held } = counted.get(request.id) ?? { people: 0, held: 0 };
  return {
    kind, identifier, type, isFromDevice: source === 'sdk', people, held,
    archives: kind === 'treated' && type === 'access' ? await listArchives(needs, request) : [],
    receivedAt: receivedAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null,
    daysLeft: Math.max(0, Math.floor((DAYS * DAY_MS - passedMs) / DAY_MS)),
    link: `${needs.publicUrl}/api/gdpr/requests/${identifier}`, receiptLink: `${needs.publicUrl}/api/gdpr/requests/${identifier}/receipt`,
  };
}

/** A link or a sentence of ours for each. Whoever was erased meanwhile is not among them any more. */
async function listArchives({ db, secrets, publicUrl }: GdprMailNeeds, request: GdprRequest): Promise<GdprReport['archives']> {
  const people = await listGdprPeople(db, request.entityId, request.id);
  return people.map((person) => ({
    ordinal: person.ordinal, told: archiveUrl(publicUrl, secrets, request, person) ?? person.message ?? '',
  }));
}
