import type { NodemailerError } from 'nodemailer';
import type { MailOutcome } from './mailer.ts';

/** nodemailer keeps the code of Node's own error, such as ECONNREFUSED, beside its own. */
type SmtpFailure = Partial<NodemailerError> & { originalCode?: string; responseCode?: number; command?: string };

/**
 * What a failed attempt means. A reply of 4xx or 5xx is the server's no, at every command and after the message, too
 * (RFC 5321, 4.2.1). Without one, what counts is whether the message was handed over.
 */
export function outcomeOfFailure(error: unknown, isHandedOver: boolean): MailOutcome {
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

/** By the command that was refused; CONN stands for the greeting. */
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

/** Of RFC 5321 (4.2.3), RFC 4954 and RFC 7504. The server's own words quote addresses. */
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

/** Node's codes of certificates that it does not take (node: tls, X509 certificate error codes). */
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
