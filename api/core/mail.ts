import { z } from 'zod';

export const MAIL_STATES = ['sending', 'sent', 'filed', 'not_sent', 'unknown'] as const;

export const mailAttempt = z.object({
  state: z
    .enum(MAIL_STATES)
    .describe(
      'filed: there is no mail server, and the mail is in a file; unknown: the process ended while it sent the mail',
    ),
  tries: z.int(),
  reason: z.string().nullable().describe('Why Millrace did not send it, and what to do'),
});

export const alertedConnections = z.array(
  mailAttempt.extend({
    connection: z.string(),
    state: mailAttempt.shape.state.nullable().describe('As the state of a mail; null: Millrace has not sent it yet'),
  }),
);
