/** Checks the mail server's URL (`SMTP_URL`). */

const FLAG = /^(true|false)$/;
const MILLISECONDS = /^[1-9]\d{0,8}$/;
const WORD = /^[^\s]+$/;

/**
 * Allowed options of nodemailer's SMTP connection in a URL. Left out are `pool` (retries by itself), `proxy`, `logger`
 * and `debug` (they print mails), and what scheme and host say already.
 */
const OPTIONS: Record<string, RegExp> = {
  requireTLS: FLAG,
  ignoreTLS: FLAG,
  authMethod: WORD,
  name: WORD,
  localAddress: WORD,
  'tls.rejectUnauthorized': FLAG,
  'tls.servername': WORD,
  'tls.minVersion': /^TLSv1\.[23]$/,
  connectionTimeout: MILLISECONDS,
  greetingTimeout: MILLISECONDS,
  socketTimeout: MILLISECONDS,
  dnsTimeout: MILLISECONDS,
};

const SHAPE = 'is smtp://user:password@host:587, or smtps://user:password@host:465';
const ENCODING = 'write @ : / ? # % in user and password as %40 %3A %2F %3F %23 %25';

/**
 * Returns what is wrong with a mail server's URL, as the end of a sentence about the variable, or undefined. Quotes
 * nothing of it, because a password with a `?` reads as an option.
 */
export function smtpUrlError(text: string): string | undefined {
  if (!/^smtps?:\/\//i.test(text) || !URL.canParse(text)) return `${SHAPE}; ${ENCODING}`;
  const { hostname, username, password, pathname, hash, searchParams } = new URL(text);
  if (hostname === '' || hash !== '' || !['', '/'].includes(pathname)) return `${SHAPE}; ${ENCODING}`;
  if ((username === '') !== (password === '')) return 'has a user without a password, or a password without a user';
  if (!isEncoded(username) || !isEncoded(password)) return `has a % that encodes nothing; ${ENCODING}`;
  const names = [...searchParams.keys()];
  if (names.some((name) => !Object.hasOwn(OPTIONS, name)) || new Set(names).size < names.length) {
    return `has an option that is not known, or one twice; there are ${Object.keys(OPTIONS).join(', ')}. Or ${ENCODING}`;
  }
  const wrong = names.find((name) => !OPTIONS[name]!.test(searchParams.get(name)!));
  return wrong === undefined ? undefined : `has a value that the option ${wrong} does not take`;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
