import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { smtpUrlError } from '../../../connectors/smtp/mail-url.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import type { Mail, MailOutcome } from '../../../connectors/smtp/mailer.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { parseMail, type SmtpConduct, smtpServer } from '../../harness/core/smtp.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import { filesIn } from '../../../store/core/files.ts';

const folder = await mkdtemp(join(tmpdir(), 'millrace-mail-'));
onFileEnd(() => rm(folder, { recursive: true, force: true }));

const PASSWORD = 'p@ss:wörd/zqmailpassword';
rememberSecret(PASSWORD);
const LOGIN = { user: 'mill@example.com', password: PASSWORD };
const USERINFO = `${encodeURIComponent(LOGIN.user)}:${encodeURIComponent(LOGIN.password)}`;

const SENDER = 'millrace@example.com';
const MAIL: Mail = {
  to: [personId(1), personId(2)],
  subject: 'Import imp_1 into Kundschaft Zürich 🧵: 998 of 1,000 rows ok, 2 failed, and so on until the line is long',
  text: 'Grüße\n.\n.. a line of dots\nhttps://millrace.example.com/imports/imp_1\n',
  messageId: '<imp_1.1@millrace.example.com>',
};

/** Sends one mail and proves that what is said of a failure quotes neither people nor secrets nor the mail. */
async function attempt(smtpUrl: string, mail: Mail = MAIL): Promise<MailOutcome> {
  expect(smtpUrlError(smtpUrl)).toBeUndefined();
  const outcome = await openMailer({
    smtpUrl,
    outbox: folderFiles(join(folder, 'unused')),
    from: `Millrace <${SENDER}>`,
  }).send(mail);
  const told = JSON.stringify(outcome);
  for (const hidden of [...mail.to, LOGIN.user, SENDER, PASSWORD, encodeURIComponent(PASSWORD), 'Zürich', 'Grüße']) {
    expect(told).not.toContain(hidden);
  }
  return outcome;
}

const notSent = (retryable: boolean, reason: RegExp) => ({
  outcome: 'not_sent',
  retryable,
  reason: expect.stringMatching(reason) as string,
});

describe('a mail that a server takes', async () => {
  const server = await smtpServer();

  it('arrives as it was written, with every recipient in its envelope and in To', async () => {
    expect(await attempt(`smtp://127.0.0.1:${server.port}`)).toEqual({ outcome: 'sent', rejected: 0 });
    const { from, to, mail } = server.received.at(-1)!;
    expect({ from, to }).toEqual({ from: SENDER, to: MAIL.to });
    expect(mail.headers).toMatchObject({
      from: `Millrace <${SENDER}>`,
      to: MAIL.to.join(', '),
      subject: MAIL.subject,
      'message-id': MAIL.messageId,
      'auto-submitted': 'auto-generated',
    });
    expect(mail.headers).not.toHaveProperty('x-mailer');
    expect(mail.text).toBe(MAIL.text);
  });

  it('is sent to the others when one recipient is rejected, and that is counted', async () => {
    server.behave({ recipients: { [personId(2)]: 550 } });
    expect(await attempt(`smtp://127.0.0.1:${server.port}`)).toEqual({ outcome: 'sent', rejected: 1 });
    expect(server.received.at(-1)!.to).toEqual([personId(1)]);
  });

  it('has no header beside its own, whatever stands in the subject', async () => {
    server.behave({});
    await attempt(`smtp://127.0.0.1:${server.port}`, { ...MAIL, subject: 'one\r\nBcc: other@example.com\r\n\r\nbody' });
    const { to, mail } = server.received.at(-1)!;
    expect(to).toEqual(MAIL.to);
    expect(mail.headers).not.toHaveProperty('bcc');
    expect(mail.text).toBe(MAIL.text);
  });
});

describe('a mail that a server does not take is known not to be sent', async () => {
  const server = await smtpServer();
  const everyone = (code: number) => Object.fromEntries(MAIL.to.map((address) => [address, code]));

  it.each<[string, SmtpConduct, boolean, RegExp]>([
    ['the server is closing', { greeting: 421 }, true, /connection: 421 service not available. Try again later/],
    ['the server wants nobody', { greeting: 554 }, false, /connection: 554/],
    ['the sender is refused', { sender: 553 }, false, /sender: 553 mailbox name not allowed. Set MILLRACE_MAIL_FROM/],
    [
      'every recipient is refused',
      { recipients: everyone(550) },
      false,
      /every recipient: 550 .* Correct the addresses/,
    ],
    ['every recipient is put off', { recipients: everyone(450) }, true, /every recipient: 450/],
    ['the message is put off', { message: 451 }, true, /refused the mail: 451 error in processing. Try again later/],
    ['the message is refused', { message: 554 }, false, /refused the mail: 554/],
    ['the server ends while it answers', { message: 421 }, true, /refused the mail: 421/],
    ['the connection breaks at the greeting', { greeting: 'drop' }, true, /broke off|cannot be reached/],
    [
      'the connection breaks at a recipient',
      { recipients: { [personId(1)]: 'drop' } },
      true,
      /broke off|cannot be reached/,
    ],
  ])('when %s', async (_, conduct, retryable, reason) => {
    server.behave(conduct);
    expect(await attempt(`smtp://127.0.0.1:${server.port}`)).toEqual(notSent(retryable, reason));
    expect(server.received).toEqual([]);
  });

  it('when the connection breaks in the middle of the message', async () => {
    server.behave({ message: 'cut' });
    const text = 'a line that takes its place\n'.repeat(500_000);
    expect(await attempt(`smtp://127.0.0.1:${server.port}`, { ...MAIL, text })).toEqual(
      notSent(true, /before the mail was handed over|cannot be reached/),
    );
  });

  it('when the server never greets', async () => {
    server.behave({ greeting: 'silence' });
    expect(await attempt(`smtp://127.0.0.1:${server.port}?greetingTimeout=200`)).toEqual(
      notSent(true, /did not answer in time/),
    );
  });

  it('when nothing listens there', async () => {
    expect(await attempt(`smtp://127.0.0.1:${CLOSED_PORT}`)).toEqual(
      notSent(true, /cannot be reached \(ECONNREFUSED\)/),
    );
  });

  it('when the name of the server is none', async () => {
    // Too long for a name, so nobody outside is asked.
    expect(await attempt(`smtp://${'a'.repeat(64)}.invalid`)).toEqual(notSent(true, /name could not be resolved/));
  });

  it('when an address holds what ends a command', async () => {
    server.behave({});
    expect(
      await attempt(`smtp://127.0.0.1:${server.port}`, { ...MAIL, to: ['a@example.com>\r\nRCPT TO:<b@example.com'] }),
    ).toMatchObject({ outcome: 'not_sent', retryable: false });
    expect(server.received).toEqual([]);
  });

  it('when it has no recipient', async () => {
    expect(await attempt(`smtp://127.0.0.1:${server.port}`, { ...MAIL, to: [] })).toEqual(
      notSent(false, /no recipient/),
    );
  });
});

describe('a mail that was handed over without an answer is of unknown fate', async () => {
  const server = await smtpServer();

  it.each<[string, SmtpConduct['message'], string]>([
    ['the connection breaks', 'drop', ''],
    ['the server falls silent', 'silence', '?socketTimeout=300'],
    ['the answer is neither yes nor no', 354, ''],
  ])('when %s', async (_, message, options) => {
    server.behave({ message });
    expect(await attempt(`smtp://127.0.0.1:${server.port}${options}`)).toEqual({
      outcome: 'unknown',
      reason: expect.stringMatching(/broke after the mail was handed over.*Message-ID/) as string,
    });
  });
});

describe('a login', async () => {
  const server = await smtpServer({ login: LOGIN, tls: 'starttls' });
  const bare = await smtpServer({ login: LOGIN });
  const at = (port: number, options: string, userinfo = `${USERINFO}@`) =>
    `smtp://${userinfo}127.0.0.1:${port}${options}`;

  it('takes place over TLS, with a password of any characters', async () => {
    expect(await attempt(at(server.port, '?tls.rejectUnauthorized=false'))).toEqual({ outcome: 'sent', rejected: 0 });
    expect(server.received.at(-1)).toMatchObject({ isSecure: true, user: LOGIN.user });
  });

  it('does not take place with a server whose certificate nobody vouches for', async () => {
    const before = server.received.length;
    expect(await attempt(at(server.port, ''))).toEqual(
      notSent(false, /certificate is not trusted .*NODE_EXTRA_CA_CERTS/),
    );
    expect(server.received).toHaveLength(before);
  });

  it('keeps its password to itself where the server has no TLS, unless the URL allows it', async () => {
    expect(await attempt(at(bare.port, ''))).toEqual(notSent(false, /does not turn on TLS: 5\d\d .*ignoreTLS=true/));
    expect(await attempt(at(bare.port, '?ignoreTLS=true'))).toEqual({ outcome: 'sent', rejected: 0 });
    expect(bare.received.at(-1)).toMatchObject({ isSecure: false, user: LOGIN.user });
  });

  it('that is refused says where to correct it; one that is put off may be tried again', async () => {
    const wrong = `${encodeURIComponent(LOGIN.user)}:wrong@`;
    expect(await attempt(at(bare.port, '?ignoreTLS=true', wrong))).toEqual(
      notSent(false, /login: 535 .* Correct user and password/),
    );
    bare.behave({ login: 454 });
    expect(await attempt(at(bare.port, '?ignoreTLS=true'))).toEqual(notSent(true, /login: 454 .* Try again later/));
    bare.behave({});
  });

  it('that is missing is asked for', async () => {
    expect(await attempt(at(bare.port, '', ''))).toEqual(
      notSent(false, /530 login required. Put user and password into SMTP_URL/),
    );
  });

  it('takes place with TLS from the start', async () => {
    const tls = await smtpServer({ login: LOGIN, tls: 'from the start' });
    const url = `smtps://${USERINFO}@127.0.0.1:${tls.port}`;
    expect(await attempt(`${url}?tls.rejectUnauthorized=false`)).toEqual({ outcome: 'sent', rejected: 0 });
    expect(tls.received.at(-1)).toMatchObject({ isSecure: true, user: LOGIN.user });
    expect(await attempt(url)).toEqual(notSent(false, /certificate is not trusted/));
  });

  it('by smtps:// to a port that speaks TLS later only, says which to use', async () => {
    expect(await attempt(`smtps://${USERINFO}@127.0.0.1:${bare.port}`)).toEqual(
      notSent(false, /TLS with the mail server failed/),
    );
  });
});

describe('without a server', () => {
  it('a mail lies whole in the outbox, for this user alone, under a name that sorts by time and tells nobody', async () => {
    const outbox = join(folder, 'outbox');
    const mailer = openMailer({ outbox: filesIn(folderFiles(folder), 'outbox'), from: SENDER });
    const subjects = ['first', 'second', 'third ✓'];
    for (const subject of subjects) {
      expect(await mailer.send({ ...MAIL, subject, messageId: 'imp_1.1@millrace.example.com' })).toEqual({
        outcome: 'filed',
      });
    }
    await mailer.close();
    const names = (await readdir(outbox)).filter((name) => name.endsWith('.eml')).toSorted();
    expect(names).toHaveLength(3);
    const mails = await Promise.all(names.map(async (name) => parseMail(await readFile(join(outbox, name)))));
    expect(mails.map(({ headers }) => headers.subject)).toEqual(subjects);
    expect(mails[0]).toMatchObject({
      text: MAIL.text,
      headers: { to: MAIL.to.join(', '), 'message-id': MAIL.messageId },
    });
    expect(names.every((name) => /^\d{4}-[\dTZ-]+-[\da-f]{8}\.eml$/.test(name))).toBe(true);
    expect((await stat(outbox)).mode & 0o777).toBe(0o700);
    expect((await stat(join(outbox, names[0]!))).mode & 0o777).toBe(0o600);
  });

  it('a mail that cannot be written is not sent, and may be tried again', async () => {
    await writeFile(join(folder, 'a-file'), '');
    const mailer = openMailer({ outbox: filesIn(folderFiles(folder), 'a-file'), from: SENDER });
    expect(await mailer.send(MAIL)).toEqual(notSent(true, /outbox could not be written \(EEXIST\)/));
  });
});

it('closing waits for the mail that is being sent', async () => {
  const server = await smtpServer();
  const mailer = openMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, outbox: folderFiles(folder), from: SENDER });
  const sending = mailer.send(MAIL);
  await mailer.close();
  expect(server.received).toHaveLength(1);
  expect(await sending).toEqual({ outcome: 'sent', rejected: 0 });
});

describe('the URL of a server', () => {
  it.each([
    'smtp://localhost',
    'smtp://user:pass@mail.example.com:587',
    'smtps://u%40x:p%23@mail.example.com:465/',
    'SMTP://[::1]:25',
    'smtp://h?tls.rejectUnauthorized=false&requireTLS=true&socketTimeout=5000&tls.minVersion=TLSv1.3',
  ])('%s is one', (url) => {
    expect(smtpUrlError(url)).toBeUndefined();
  });

  it.each([
    ['mail.example.com', /^is smtp:/],
    ['http://mail.example.com', /^is smtp:/],
    ['smtp:mail.example.com', /^is smtp:/],
    ['smtp://', /^is smtp:/],
    ['smtp://host/path', /^is smtp:/],
    ['smtp://u:zqsecret/x@host', /%2F/],
    ['smtp://u:1#zqsecret@host', /%23/],
    ['smtp://u:1?zqsecret@host', /%3F/],
    ['smtp://u:zqsecret%@host', /a % that encodes nothing/],
    ['smtp://user@host', /without a password/],
    ['smtp://host?pool=true', /not known/],
    ['smtp://host?proxy=http://p', /not known/],
    ['smtp://host?debug=true', /not known/],
    ['smtp://host?__proto__=1', /not known/],
    ['smtp://host?name=a&name=b', /twice/],
    ['smtp://host?tls.rejectUnauthorized=no', /the option tls.rejectUnauthorized/],
    ['smtp://host?socketTimeout=0', /socketTimeout/],
  ])('%s is none, which is said without quoting it', (url, fault) => {
    expect(smtpUrlError(url)).toMatch(fault);
    expect(smtpUrlError(url)).not.toContain('zqsecret');
  });
});
