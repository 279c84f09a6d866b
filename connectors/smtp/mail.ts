/** Sends mails by SMTP, or writes them to the outbox. */
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createTransport, type NodemailerError, type SendMailOptions, type SMTPTransportOptions } from 'nodemailer';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import type { Mail, Mailer, MailOutcome } from './mailer.ts';

/** `smtpUrl` is valid by `smtpUrlError`. `from` is an address, or `Name <address>`. */
type MailSettings = { smtpUrl?: string | undefined; outbox: Outbox; from: string };

/** Sends by SMTP if there is a server, or else writes each mail as an `.eml` file into `outbox`. */
export function openMailer({ smtpUrl, outbox, from }: MailSettings): Mailer {
  const deliver = smtpUrl ? smtpDelivery(smtpUrl, from) : outboxDelivery(outbox, from);
  const underWay = new Set<Promise<MailOutcome>>();
  return {
    async send(mail) {
      if (mail.to.length === 0) return { outcome: 'not_sent', retryable: false, reason: 'The mail has no recipient.' };
      const attempt = deliver(mail);
      underWay.add(attempt);
      return attempt.finally(() => underWay.delete(attempt));
    },
    async close() {
      await Promise.allSettled(underWay);
    },
  };
}

/** Writes files completely or not at all. */
type Outbox = { put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown> };

/** Replaces a mail server: each mail is a file (RFC 5322). */
function outboxDelivery(outbox: Outbox, from: string): (mail: Mail) => Promise<MailOutcome> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const nextName = fileNames();
  return async (mail) => {
    try {
      const { message } = await composer.sendMail(mailContent(mail, from));
      await outbox.put(nextName(), inOnePiece(message as Buffer));
      return { outcome: 'filed' };
    } catch (error) {
      const { code, errorClass } = internalErrorOf(error);
      const reason = `The outbox could not be written (${code ?? errorClass}): check the file store (MILLRACE_FILES).`;
      return { outcome: 'not_sent', retryable: true, reason };
    }
  };
}

async function* inOnePiece(message: Buffer): AsyncGenerator<Buffer> {
  yield message;
}

/**
 * Returns names that sort by time, also within a millisecond and after the clock is set back; the rest distinguishes
 * processes.
 */
function fileNames(): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Date.now());
    return `${new Date(last).toISOString().replaceAll(/[:.]/g, '-')}-${randomBytes(4).toString('hex')}.eml`;
  };
}

/** The URL's own options replace these. The first one covers look-up to the end of STARTTLS. */
const TIMEOUTS = { connectionTimeout: 10_000, dnsTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** Maximum time of an attempt: the other timeouts restart with each byte from the server. */
const TOTAL_MS = 120_000;

/** Sends by SMTP, with a connection for each mail: nodemailer's pool retries by itself. */
export function smtpDelivery(smtpUrl: string, from: string, totalMs = TOTAL_MS): (mail: Mail) => Promise<MailOutcome> {
  const localAddress = new URL(smtpUrl).searchParams.get('localAddress');
  const options: SMTPTransportOptions = { ...TIMEOUTS, requireTLS: hasSecret(smtpUrl), url: smtpUrl };
  return async (mail) => {
    // Our own, so that the deadline can end it in any phase.
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

/** Makes a socket that connects from this address; nodemailer does not bind a socket that it is given. */
function socketFrom(localAddress: string | null): Socket {
  const socket = new Socket();
  if (localAddress === null) return socket;
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, {
    connect: (port: number, host: string, onConnect: () => void) => connect({ port, host, localAddress }, onConnect),
  });
}

/**
 * Passes the message on once the server accepts DATA. Until all of it is read, the line that ends a message cannot have
 * been sent, and the server must not deliver (RFC 5321, 4.1.1.4).
 */
async function* passOn(input: Readable, handOver: { isDone: boolean }): AsyncGenerator<Buffer> {
  for await (const chunk of input) yield chunk as Buffer;
  handOver.isDone = true;
}

/**
 * Returns whether a password requires TLS, unless the URL says otherwise: an attacker who removes STARTTLS could read
 * it.
 */
function hasSecret(smtpUrl: string): boolean {
  const { password, searchParams } = new URL(smtpUrl);
  return password !== '' && searchParams.get('ignoreTLS') !== 'true';
}

/** nodemailer keeps the code of Node's own error, such as ECONNREFUSED, beside its own. */
type SmtpFailure = Partial<NodemailerError> & { originalCode?: string; responseCode?: number; command?: string };

/**
 * Returns the outcome of a failed attempt. A 4xx or 5xx reply is the server's refusal, at every command and after the
 * message (RFC 5321, 4.2.1). Without one it depends on whether the message was handed over.
 */
function outcomeOfFailure(error: unknown, isHandedOver: boolean): MailOutcome {
  const failure = (error instanceof Error ? error : {}) as SmtpFailure;
  const reply = failure.responseCode ?? 0;
  if (reply >= 400 && reply <= 599) return refusedBy(reply, failure.command ?? '');
  if (isHandedOver) {
    return {
      outcome: 'unknown',
      reason:
        'The connection to the mail server broke after the mail was handed over and before the answer. ' +
        "Ask a recipient, or look for its Message-ID in the server's log, before you send it again.",
    };
  }
  return { outcome: 'not_sent', ...withoutReply(failure) };
}

/** 503 is about the order of commands, not about this mail. */
function refusedBy(reply: number, command: string): MailOutcome {
  const retryable = reply < 500 || reply === 503;
  const [verb = ''] = command.split(' ');
  const { did, advice } = Object.hasOwn(REFUSALS, verb) ? REFUSALS[verb]! : REFUSALS.DATA!;
  const meaning = MEANINGS[reply] ? ` ${MEANINGS[reply]}` : '';
  const todo = retryable ? 'Try again later.' : (ADVICE_BY_REPLY[reply] ?? advice);
  return { outcome: 'not_sent', retryable, reason: `The mail server ${did}: ${reply}${meaning}. ${todo}` };
}

const SEE_LOG = 'Its log says why.';

/** Texts by the refused command; CONN stands for the greeting. */
const REFUSALS: Record<string, { did: string; advice: string }> = {
  CONN: { did: 'refused the connection', advice: SEE_LOG },
  EHLO: { did: 'refused the connection', advice: SEE_LOG },
  HELO: { did: 'refused the connection', advice: SEE_LOG },
  STARTTLS: {
    did: 'does not turn on TLS',
    advice: 'Use smtps:// in SMTP_URL, or ?ignoreTLS=true where the password may go in the clear.',
  },
  AUTH: { did: 'refused the login', advice: 'Correct user and password in SMTP_URL.' },
  MAIL: { did: 'refused the sender', advice: 'Set MILLRACE_MAIL_FROM to an address that it takes.' },
  RCPT: { did: 'refused every recipient', advice: 'Correct the addresses.' },
  DATA: { did: 'refused the mail', advice: SEE_LOG },
};

const ADVICE_BY_REPLY: Record<number, string> = {
  530: 'Put user and password into SMTP_URL.',
  538: 'Use smtps:// in SMTP_URL.',
};

/** Meanings of replies (RFC 5321, 4.2.3, RFC 4954 and RFC 7504). The server's own words quote addresses. */
const MEANINGS: Record<number, string> = {
  421: 'service not available',
  450: 'mailbox unavailable',
  451: 'error in processing',
  452: 'insufficient storage',
  454: 'temporary failure',
  455: 'parameters not taken at present',
  500: 'syntax error',
  501: 'syntax error in parameters',
  502: 'command not implemented',
  503: 'bad sequence of commands',
  504: 'parameter not implemented',
  521: 'no mail is taken here',
  530: 'login required',
  534: 'login too weak',
  535: 'wrong user or password',
  538: 'encryption required',
  550: 'mailbox unavailable, or refused by policy',
  551: 'user not local',
  552: 'storage exceeded',
  553: 'mailbox name not allowed',
  554: 'transaction failed',
  555: 'parameters not recognized',
  556: 'the domain takes no mail',
};

function withoutReply({ code = '', originalCode = '' }: SmtpFailure): { retryable: boolean; reason: string } {
  if (CERTIFICATE.test(originalCode)) {
    return no(
      `The mail server's certificate is not trusted (${originalCode}). Name its authority's PEM file in ` +
        'NODE_EXTRA_CA_CERTS, or correct the host in SMTP_URL.',
    );
  }
  if (TLS.test(originalCode)) {
    return no(
      `TLS with the mail server failed (${originalCode}). In SMTP_URL smtps:// is for a port that speaks TLS ` +
        'from the start, such as 465, and smtp:// for others, such as 587.',
    );
  }
  if (Object.hasOwn(BROKEN, code)) {
    return { retryable: true, reason: `${BROKEN[code]!}${originalCode ? ` (${originalCode})` : ''}. ${CHECK_ADDRESS}` };
  }
  if (code === 'EAUTH') return no('The mail server takes none of the ways to log in. Set authMethod in SMTP_URL.');
  if (code === 'EENVELOPE') return no('The address of the sender or of a recipient cannot be used. Correct it.');
  if (code === 'EMESSAGE') return no('The mail is larger than the mail server takes.');
  return no(`The mail could not be made${code ? ` (${code})` : ''}.`);
}

const no = (reason: string) => ({ retryable: false, reason });

/** Node's codes of refused certificates (node: tls, X509 certificate error codes). */
const CERTIFICATE = /^(?!ERR_SSL_).*(?:CERT|CRL|_SIGNATURE$|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH|INVALID_PURPOSE)/;
const TLS = /^EPROTO$|^ERR_(?:SSL|TLS)_/;
const CHECK_ADDRESS = 'Check that it runs, and scheme, host and port in SMTP_URL (smtps:// for port 465).';

const BROKEN: Record<string, string> = {
  EDNS: "The mail server's name could not be resolved",
  ETIMEDOUT: 'The mail server did not answer in time',
  ESOCKET: 'The mail server cannot be reached',
  ECONNECTION: 'The mail server broke off the connection before the mail was handed over',
  ETLS: 'The mail server broke off the connection while TLS was turned on',
};

/** Returns a mail for nodemailer. It hides the program's version, and prevents out-of-office replies (RFC 3834). */
function mailContent({ to, subject, text, messageId }: Mail, from: string): SendMailOptions {
  return {
    from,
    subject,
    text,
    messageId,
    // As objects, so that no address is read as a list of them.
    to: to.map((address) => ({ name: '', address })),
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
