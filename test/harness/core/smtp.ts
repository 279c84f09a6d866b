import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { onFileEnd } from './clean-up.ts';

/** A reply's code; `drop` ends the connection instead, and `silence` never answers. */
type Answer = number | 'drop' | 'silence';

/** Where the server does otherwise than accept. Its refusals quote addresses, as real ones do. */
export type SmtpConduct = {
  greeting?: Answer;
  login?: Answer;
  sender?: Answer;
  recipients?: Record<string, Answer>;
  /** `cut` ends the connection at the message's first bytes; the others come after its end. */
  message?: Answer | 'cut';
};

type ReceivedMail = { from: string; to: string[]; isSecure: boolean; user: string | undefined; mail: ParsedMail };

type SmtpSettings = {
  /** Without, the server knows no login. */
  login?: { user: string; password: string };
  /** With a certificate that nobody trusts. */
  tls?: 'starttls' | 'from the start';
};

type TestSmtpServer = {
  port: number;
  received: ReceivedMail[];
  /** How the server behaves from the next command on; nothing given: it accepts. */
  behave(conduct: SmtpConduct): void;
};

type Reply = (error?: Error) => void;

/** A real SMTP server on a free loopback port, which keeps what it accepts and ends with the test file. */
export async function smtpServer({ login, tls }: SmtpSettings = {}): Promise<TestSmtpServer> {
  const received: ReceivedMail[] = [];
  const sockets = new Map<number | undefined, Socket>();
  let conduct: SmtpConduct = {};
  const drop = (session: SMTPServerSession) => sockets.get(session.remotePort)?.destroy();
  const answer = (how: Answer | undefined, session: SMTPServerSession, about: string, reply: Reply) => {
    if (how === 'drop') drop(session);
    else if (typeof how === 'number')
      reply(Object.assign(new Error(`<${about}> is not for us`), { responseCode: how }));
    else if (how === undefined) reply();
  };
  const server = new SMTPServer({
    authOptional: login === undefined,
    secure: tls === 'from the start',
    disabledCommands: [...(tls ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    onConnect: (session, reply) => answer(conduct.greeting, session, 'you', reply),
    onAuth({ username, password }, session, reply) {
      const isRight = username === login?.user && password === login?.password;
      answer(conduct.login ?? (isRight ? undefined : 535), session, String(username), (error) =>
        reply(error, { user: username }),
      );
    },
    onMailFrom: ({ address }, session, reply) => answer(conduct.sender, session, address, reply),
    onRcptTo: ({ address }, session, reply) => answer(conduct.recipients?.[address], session, address, reply),
    onData(stream, session, reply) {
      const how = conduct.message;
      if (how === 'cut') {
        stream.once('data', () => drop(session));
        return;
      }
      void readMail(stream, session).then((mail) => {
        if (how === undefined) received.push(mail);
        answer(how, session, mail.to.join(), reply);
      });
    },
  });
  server.on('error', () => undefined);
  server.server.on('connection', (socket) => sockets.set(socket.remotePort, socket));
  onFileEnd(async () => {
    for (const socket of sockets.values()) socket.destroy();
    await new Promise<void>((resolve) => server.close(resolve));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    received,
    behave: (how) => {
      conduct = how;
    },
  };
}

async function readMail(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<ReceivedMail> {
  const bytes = await buffer(stream);
  const { mailFrom, rcptTo } = session.envelope;
  return {
    from: mailFrom ? mailFrom.address : '',
    to: rcptTo.map(({ address }) => address),
    isSecure: session.secure,
    user: session.user as string | undefined,
    mail: parseMail(bytes),
  };
}

/** `headers` by their names in small letters, decoded; `text` is the decoded body; `raw` is as it came. */
type ParsedMail = { headers: Record<string, string>; text: string; raw: string };

/** Reads a mail of one part in plain text (RFC 5322, RFC 2045, RFC 2047). */
export function parseMail(bytes: Buffer): ParsedMail {
  const raw = bytes.toString('latin1');
  const end = raw.indexOf('\r\n\r\n');
  const unfolded = raw.slice(0, end).replaceAll(/\r\n(?=[ \t])/g, '');
  const headers = Object.fromEntries(
    unfolded.split('\r\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())];
    }),
  );
  const text = decoded(raw.slice(end + 4), headers['content-transfer-encoding'] ?? '7bit');
  return { headers, text: text.replaceAll('\r\n', '\n'), raw };
}

function decodeWords(value: string): string {
  const joined = value.replaceAll(/(\?=)\s+(?==\?)/g, '$1');
  return joined.replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, way: string, text: string) =>
    decoded(
      way.toLowerCase() === 'b' ? text : text.replaceAll('_', ' '),
      way.toLowerCase() === 'b' ? 'base64' : 'quoted-printable',
    ),
  );
}

function decoded(text: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString();
  if (encoding !== 'quoted-printable') return Buffer.from(text, 'latin1').toString();
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([\dA-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
