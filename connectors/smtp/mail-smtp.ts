import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import { mailContent } from './mail-content.ts';
import { outcomeOfFailure } from './mail-failure.ts';
import type { Mail, MailOutcome } from './mailer.ts';

/** The URL's own options come before these. The first counts from the look-up of the name to the end of STARTTLS. */
const TIMEOUTS = { connectionTimeout: 10_000, dnsTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** From the beginning of an attempt to its end: the other timeouts restart with each byte that the server sends. */
const TOTAL_MS = 120_000;

/** Sends by SMTP, a connection for each mail. A pool is no choice: nodemailer's sends again by itself. */
export function smtpDelivery(smtpUrl: string, from: string, totalMs = TOTAL_MS): (mail: Mail) => Promise<MailOutcome> {
  const localAddress = new URL(smtpUrl).searchParams.get('localAddress');
  const options: SMTPTransportOptions = { ...TIMEOUTS, requireTLS: hasSecret(smtpUrl), url: smtpUrl };
  return async (mail) => {
    // Our own, so that the deadline can end it, whatever nodemailer waits for.
    const socket = socketFrom(localAddress);
    const transport = createTransport({ ...options, socket });
    const handOver = { isDone: false };
    // Runs when the message is composed, before anything is sent.
    transport.use('stream', ({ message }, done) => {
      message.processFunc((input) => Readable.from(passOn(input, handOver), { objectMode: false }));
      done();
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      socket.destroy();
    }, totalMs);
    try {
      const { rejected } = await transport.sendMail(mailContent(mail, from));
      return { outcome: 'sent', rejected: rejected.length };
    } catch (error) {
      return outcomeOfFailure(
        isLate ? Object.assign(new Error('too late'), { code: 'ETIMEDOUT' }) : error,
        handOver.isDone,
      );
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  };
}

/** nodemailer leaves it to a socket that it is given from which address to connect. */
function socketFrom(localAddress: string | null): Socket {
  const socket = new Socket();
  if (localAddress === null) return socket;
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, {
    connect: (port: number, host: string, onConnect: () => void) => connect({ port, host, localAddress }, onConnect),
  });
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
