import { mailText } from '../text/mail-text.ts';
import type { InternalErrorKind } from './attention.ts';

export type MailedError = {
  kind: InternalErrorKind;
  job: string;
  step: string;
  id: string;
  since: Date;
  times: number;
};

/** Returns the mail about internal errors: steps and ids, and no data of a person. */
export function internalErrorMail(
  errors: readonly MailedError[],
  publicUrl: string,
): { subject: string; text: string } {
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
