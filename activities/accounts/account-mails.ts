/** Mails about accounts: invitations, password resets, and internal errors for superadmins. */
import { randomUUID } from 'node:crypto';
import type { Mail } from '../../connectors/smtp/mailer.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import { mailText, MAX_NAME, oneLine } from '../../domain/text/mail-text.ts';
import { type DueReset, listDueAccountLinks } from '../../store/accounts/account-links-across-entities.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import type { Invitation } from '../../store/accounts/invitations.ts';
import { bindPasswordReset, deletePasswordReset } from '../../store/accounts/password-resets.ts';
import { findUser, findUserByEmail, listEntityIdsOf, listSuperadminAddresses } from '../../store/accounts/users.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { newToken } from '../../store/core/identifiers.ts';
import type { LinkRow } from '../../store/core/mails.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { type MailedError, takeNewInternalErrors } from '../../store/jobs/internal-errors.ts';
import { inSlot } from '../core/in-slot.ts';
import { type MailDependencies, mailInTurn, mailOnce, TO_OPERATOR } from '../core/mail-once.ts';
import type { Dependencies } from '../dependencies.ts';

type AccountMailDependencies = MailDependencies & Pick<Dependencies, 'log'>;

export type AccountMailSteps = ReturnType<typeof accountMailSteps>;

export const accountMailSteps = (deps: AccountMailDependencies) => ({
  /** Mails about internal errors, invitations and password resets. Only the mail has a link's token. */
  async sendAccountMails(): Promise<void> {
    await mailInternalErrors(deps);
    const { resets, invitations } = await listDueAccountLinks(deps.db);
    // Resets first: an account has few of them, an entity may have many invitations.
    await mailInTurn(resets, (reset) => alone(deps, reset, () => mailReset(deps, reset)));
    await mailInTurn(invitations, (invitation) => alone(deps, invitation, () => mailInvitation(deps, invitation)));
  },
});

async function mailInvitation(
  deps: AccountMailDependencies,
  { entityId, id, identifier, email }: Invitation,
): Promise<void> {
  const entityName = await findEntityName(deps.db, entityId);
  await mailLink(deps, { table: 'invitations', entityId, id }, { identifier, to: email, path: 'invite' }, (link) =>
    invitationMail({ entityName, link }),
  );
}

/** Mails the account's own address. If the account is deleted, the reset is deleted as well. */
async function mailReset(deps: AccountMailDependencies, { id, identifier, ...asked }: DueReset): Promise<void> {
  const to = await write(deps.db, (tx) => findResetAddress(tx, { id, ...asked }));
  if (to === null) return deletePasswordReset(deps.db, id);
  await mailLink(deps, { table: 'password_resets', id }, { identifier, to, path: 'reset' }, (link) =>
    resetMail({ link }),
  );
}

/** Binds a reset that was requested without a login to its account, and writes the audit log. */
async function findResetAddress(
  tx: Tx,
  { id, userId, email, address }: Omit<DueReset, 'identifier'>,
): Promise<string | null> {
  if (userId !== null) return (await findUser(tx, userId))?.email ?? null;
  const user = await findUserByEmail(tx, email);
  if (!user) return null;
  await bindPasswordReset(tx, id, user.id);
  for (const entityId of await listEntityIdsOf(tx, user.id)) {
    await insertAuditEntry(tx, entityId, {
      actorKind: 'system',
      address,
      action: 'create',
      subjectKind: 'password_reset',
      subject: user.uid,
    });
  }
  return user.email;
}

type LinkMail = { identifier: string; to: string; path: 'invite' | 'reset' };

async function mailLink(
  deps: AccountMailDependencies,
  row: LinkRow,
  { identifier, to, path }: LinkMail,
  words: (link: string) => Omit<Mail, 'to' | 'messageId'>,
): Promise<void> {
  const token = newToken();
  const hash = tokenHash(token);
  // Each attempt is a new mail, because it has a new link.
  const mailed = { ...row, tokenHash: hash, identifier: `${identifier}.${hash.toString('hex', 0, 8)}` };
  await mailOnce(deps, mailed, { to: [to], ...words(`${deps.publicUrl}/${path}/${token}`) }, 'account');
}

/** Runs one mail's work, so that its failure does not stop the others. */
async function alone(
  { log }: AccountMailDependencies,
  { identifier }: { identifier: string },
  work: () => Promise<void>,
): Promise<void> {
  await work().catch((error: unknown) =>
    log.warn({ accountLink: identifier, ...internalErrorOf(error) }, 'a mail about an account was not sent'),
  );
}

/** Mails superadmins about new internal errors, at most once an hour for all processes together. */
export async function mailInternalErrors(deps: MailDependencies): Promise<void> {
  await inSlot(deps.takeMailSlot, TO_OPERATOR, () => mailInSlot(deps)).catch((error: unknown) => {
    // The next sweep tries again; mails of accounts come first.
    if (!(error instanceof TooManyWait)) throw error;
  });
}

async function mailInSlot({ db, mailer, publicUrl }: MailDependencies): Promise<void> {
  const errors = await takeNewInternalErrors(db);
  const to = errors.length === 0 ? [] : await listSuperadminAddresses(db);
  if (to.length === 0) return;
  const messageId = `<internal-errors.${randomUUID()}@${new URL(publicUrl).hostname}>`;
  await mailer.send({ to, messageId, ...internalErrorMail(errors, publicUrl) });
}

/** Each line of a mail has less than 76 characters, so that it is sent unchanged and a link stays whole. */
const LINK_WORKS = 'The link works once, for 24 hours.\nNothing happens before you open it and confirm there.';

/** Has no text of an admin's own: only superadmins name entities. */
function invitationMail({ entityName, link }: { entityName: string; link: string }): {
  subject: string;
  text: string;
} {
  const entity = oneLine(entityName, MAX_NAME);
  return {
    subject: `Invitation to ${entity} on Millrace`,
    text: mailText([
      `You are invited to work with Millrace, for:\n${entity}`,
      `To accept, open:\n${link}`,
      LINK_WORKS,
      'If you do not know what this is about, ignore this mail:\nwithout you nothing comes of it.',
    ]),
  };
}

function resetMail({ link }: { link: string }): { subject: string; text: string } {
  return {
    subject: 'A new password for Millrace',
    text: mailText([
      'A new password was asked for, for your account at Millrace:\nby yourself, or by an admin for you.',
      `To choose one, open:\n${link}`,
      LINK_WORKS,
      'A new password ends all sessions of the account.\nIf you want none, ignore this mail: the one in force stays.',
    ]),
  };
}

/** Names steps and ids, and no data of a person. */
function internalErrorMail(errors: readonly MailedError[], publicUrl: string): { subject: string; text: string } {
  const lines = errors.map(
    ({ kind, job, step, id, since, times }) =>
      `  ${[kind, job, step].filter(Boolean).join(' ')}\n    since ${since.toISOString().slice(0, 19)}Z, ${times} in all, error ${id}`,
  );
  return {
    subject: 'Errors in Millrace itself',
    text: mailText([
      "Steps or requests failed for a reason that is neither the caller's\nnor an outside system's:",
      lines.join('\n'),
      'Millrace tries the steps again by itself, unless it has given them\n' +
        'up. The logs of servers and workers tell more under each id. To see\nwhat needs attention:\n' +
        `  millrace attention --kind internal_error\n  ${publicUrl}/api/attention?kind=internal_error`,
      'You get this mail at most once an hour.',
    ]),
  };
}
