import { Readable } from 'node:stream';
import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import { mailContent } from './mail-content.ts';
import { outcomeOfFailure } from './mail-failure.ts';
import type { Mail, MailOutcome } from './mailer.ts';

/** The URL's own options come before these. The first counts from the look-up of the name to the end of STARTTLS. */
const TIMEOUTS = { connectionTimeout: 10_000, dnsTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** Sends by SMTP, a connection for each mail. A pool is no choice: nodemailer's sends again by itself. */
export function smtpDelivery(smtpUrl: string, from: string): (mail: Mail) => Promise<MailOutcome> {
  const options: SMTPTransportOptions = { ...TIMEOUTS, requireTLS: hasSecret(smtpUrl), url: smtpUrl };
  return async (mail) => {
    const transport = createTransport(options);
    const handOver = { isDone: false };
    // Runs when the message is composed, before anything is sent.
    transport.use('stream', ({ message }, done) => {
      message.processFunc((input) => Readable.from(passOn(input, handOver), { objectMode: false }));
      done();
    });
    try {
      const { rejected } = await transport.sendMail(mailContent(mail, from));
      return { outcome: 'sent', rejected: rejected.length };
    } catch (error) {
      return outcomeOfFailure(error, handOver.isDone);
    }
  };
}

/**
 * Read only after the server has said yes to DATA. Until all of it is read, the line that ends a message cannot have
 * been sent, and the server must not deliver (RFC 5321, 4.1.1.4).
 */
async function* passOn(input: Readable, handOver: { isDone: boolean }): AsyncGenerator<Buffer> {
  for await (const chunk of input) yield chunk as Buffer;
  handOver.isDone = true;
}

/** A password goes over TLS only, unless the URL says otherwise: whoever can cut STARTTLS out could read it. */
function hasSecret(smtpUrl: string): boolean {
  const { password, searchParams } = new URL(smtpUrl);
  return password !== '' && searchParams.get('ignoreTLS') !== 'true';
}
