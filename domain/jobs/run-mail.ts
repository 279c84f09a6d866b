import { mailText, MAX_NAME, oneLine } from '../text/mail-text.ts';

/** How a run ended. Instants are ISO 8601. */
export type RunReport<Alert extends string> = {
  runId: string;
  alert: Alert | keyof typeof HEADLINES;
  failure: string | null;
  startedAt: string;
  endedAt: string;
  link: string;
};

export type RunMail = { subject: string; text: string; line: string };

const HEADLINES = { failed: 'a run failed', paused: 'paused, since it keeps failing', recovered: 'works again' };

/** Returns the mail about a run. It holds nothing that others chose, since a mail cannot be erased. */
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
