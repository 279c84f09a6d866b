/** The texts of mails about privacy requests, and of digests of requests from devices. */
import { mailText, MAX_NAME, oneLine, thousands } from '../text/mail-text.ts';

/** `waiting`: for approval; `held`: all people left are on hold; `near_deadline`: few of the 30 days are left. */
export type GdprMailKind = 'waiting' | 'held' | 'treated' | 'near_deadline';

/** The contents of a mail about a request. It names no people: a mail cannot be erased. Times are ISO 8601. */
export type GdprReport = {
  kind: GdprMailKind;
  identifier: string;
  type: 'access' | 'delete';
  isFromDevice: boolean;
  /** How many people it has, and how many of them are on hold. */
  people: number;
  held: number;
  /** For a treated access request: a signed link or a message, by the person's number. */
  archives: { ordinal: number; told: string }[];
  receivedAt: string;
  /** When it is deleted with its archives; null until it is treated. */
  expiresAt: string | null;
  /** Until the 30 days are over; 0 for less than a day. */
  daysLeft: number;
  /** Links to its status and its receipts. */
  link: string;
  receiptLink: string;
};

/** Maximum number of links to archives; the status has the others. */
const ARCHIVES_TOLD = 50;

/** Returns the mail about a privacy request: what happened, what to do, and where. */
export function gdprMail(report: GdprReport): { subject: string; text: string } {
  const title = report.type === 'access' ? 'Access request' : 'Deletion request';
  const subject = `${title} ${oneLine(report.identifier, MAX_NAME)}: ${headline(report)}`;
  const parts = [
    [`${subject}.`, `It is about ${people(report.people)} and was received ${report.receivedAt}${origin(report)}.`],
    ...partsOf(report),
    ['Its status:', report.link],
  ];
  return { subject, text: mailText(parts) };
}

/** A request as a digest shows it. `archive`: a signed link, or what is said instead; null if there is none. */
export type DigestLine = { kind: GdprMailKind; type: 'access' | 'delete'; identifier: string; archive: string | null };

function headline({ kind, daysLeft }: GdprReport): string {
  if (kind === 'waiting') return 'waits for approval';
  if (kind === 'held') return 'a person is on hold';
  if (kind === 'treated') return 'treated';
  return daysLeft > 0 ? `${days(daysLeft)} left` : 'its 30 days are over';
}

function partsOf(report: GdprReport): string[][] {
  if (report.kind === 'waiting') return [waitingLines(report)];
  if (report.kind === 'held') return [heldLines(report)];
  if (report.kind === 'near_deadline') return [deadlineLines(report)];
  return report.type === 'access' ? [archiveLines(report)] : [erasedLines(report)];
}

function waitingLines({ identifier }: GdprReport): string[] {
  const name = oneLine(identifier, MAX_NAME);
  return [
    'Nothing is deleted until a user approves it; 30 days from its receipt are what the law gives.',
    `To approve it: npx --no-install millrace gdpr approve ${name}; to decline it: npx --no-install millrace gdpr decline ${name}`,
  ];
}

function heldLines({ people: all, held }: GdprReport): string[] {
  return [
    `${heldOf(all, held)} on hold.`,
    'A person on hold is deleted once nothing holds them any more; the status tells why. ' +
      'To see what stands: npx --no-install millrace gdpr holds',
  ];
}

function heldOf(all: number, held: number): string {
  const are = (count: number) => `${thousands(count)} ${count === 1 ? 'is' : 'are'}`;
  if (held < all) return `Of them ${are(all - held)} treated, ${are(held)}`;
  return all === 1 ? 'Nothing is deleted yet: they are' : 'No one is deleted yet: all of them are';
}

function deadlineLines({ daysLeft }: GdprReport): string[] {
  return [
    daysLeft > 0
      ? `It is not treated, and ${days(daysLeft)} of its 30 are left.`
      : 'It is not treated, and its 30 days are over.',
    'The status tells what it is at, and what keeps it.',
  ];
}

function erasedLines({ people: count, receiptLink }: GdprReport): string[] {
  return [
    `Deleted: ${people(count)}. A second look found nothing of them any more.`,
    'The signed receipt, which holds no ids and stays:',
    receiptLink,
  ];
}

function archiveLines({ archives, expiresAt }: GdprReport): string[] {
  const lines = archives.slice(0, ARCHIVES_TOLD).map(({ ordinal, told }) => `${ordinal}. ${oneLine(told)}`);
  const more =
    archives.length > ARCHIVES_TOLD
      ? [`and ${thousands(archives.length - ARCHIVES_TOLD)} more, which the status names`]
      : [];
  const until = expiresAt === null ? '' : ` until ${expiresAt}`;
  const links = archives.some(({ told }) => URL.canParse(told))
    ? `; who has a link can download what it leads to${until}. Pass each on to its person only`
    : '';
  return [`In the order in which they were asked for${links}:`, ...lines, ...more];
}

function origin({ isFromDevice }: GdprReport): string {
  return isFromDevice ? ' from a device' : '';
}

function people(count: number): string {
  return count === 1 ? '1 person' : `${thousands(count)} people`;
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
