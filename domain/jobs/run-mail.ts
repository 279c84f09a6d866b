import { mailText, MAX_NAME, oneLine } from '../text/mail-text.ts';

/** How a run ended that somebody should know of. Instants are ISO 8601. */
export type RunReport<Alert extends string> = {
  runId: string;
  alert: Alert | keyof typeof HEADLINES;
  /** The status of the run's failure. */
  failure: string | null;
  startedAt: string;
  endedAt: string;
  link: string;
};

export type RunMail = { subject: string; text: string; line: string };

const HEADLINES = { failed: 'a run failed', paused: 'paused, since it keeps failing', recovered: 'works again' };

/**
 * Returns the mail about a run, and the same in a line: why, what to do, and a link. `title` names the owner. The mail
 * has nothing that somebody else chose: nothing of a row or record, since a mail cannot be erased, no name and no
 * message of an outside system.
 */
export function runMail<Alert extends string>(
  { runId, alert, startedAt, endedAt, link }: RunReport<Alert>,
  headlines: Record<Alert, string>,
  title: string,
  { reasons, parts }: { reasons: string[]; parts: string[][] },
): RunMail {
  const subject = `${title}: ${{ ...HEADLINES, ...headlines }[alert]}`;
  const [run, from, to] = [runId, startedAt, endedAt].map((text) => oneLine(text, MAX_NAME));
  const last = [[oneLine(link)], [`Run ${run}, from ${from} to ${to}`]];
  const text = mailText([[`${subject}.`, ...reasons], ...parts, ...last]);
  return { subject, text, line: [`${subject}.`, ...reasons].join(' ') };
}
