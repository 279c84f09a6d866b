/** Mails with a link about an account: no text of an admin's own, since only superadmins name entities. */
import { mailText, MAX_NAME, oneLine } from '../text/mail-text.ts';

/** Each line has less than 76 characters, so that it is sent unchanged and a link stays whole, also in the outbox. */
const LINK_WORKS = 'The link works once, for 24 hours.\nNothing happens before you open it and confirm there.';

export function invitationMail({ entityName, link }: { entityName: string; link: string }): {
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

export function resetMail({ link }: { link: string }): { subject: string; text: string } {
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
