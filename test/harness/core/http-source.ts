import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onFileEnd } from './clean-up.ts';

/** What a source does with a request; `nth` counts those to the same path, from 0. */
export type Answer = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

type Asked = { method: string; path: string; headers: IncomingHttpHeaders };

type HttpSource = {
  port: number;
  /** In the order they came. */
  asked: Asked[];
  /** How many connections are open. */
  connections(): number;
  /** Has the source answer so at a path, and gives its address, by the name or address of `host`. */
  serve(path: string, answer: Answer, host?: string): string;
};

type SourceSettings = { address?: '127.0.0.1' | '::1'; port?: number; tls?: Certificate };

/** A real HTTP or HTTPS server on loopback that plays an outside source, and ends with the test file. */
export async function httpSource({
  address = '127.0.0.1',
  port: wanted = 0,
  tls,
}: SourceSettings = {}): Promise<HttpSource> {
  const answers = new Map<string, { answer: Answer; times: number }>();
  const asked: Asked[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request;
    const path = url.replace(/\?.*$/, '');
    asked.push({ method, path: url, headers });
    const found = answers.get(path) ?? { answer: status(404), times: 0 };
    found.times += 1;
    request.resume();
    found.answer(request, response, found.times - 1);
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(wanted, address);
  await once(server, 'listening');
  onFileEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  const { port } = server.address() as AddressInfo;
  const serve = (path: string, answer: Answer, host: string = address === '::1' ? '[::1]' : address) => {
    answers.set(path, { answer, times: 0 });
    return `${tls ? 'https' : 'http'}://${host}:${port}${path}`;
  };
  return { port, asked, serve, connections: () => sockets.size };
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(code, headers).end('<p>words that nobody is to read</p>');
  };

export const redirect = (location: string, code = 302): Answer => status(code, { location });

/** One answer after the other; the last one stays. */
export const inTurn =
  (...answers: Answer[]): Answer =>
  (request, response, nth) => {
    answers[Math.min(nth, answers.length - 1)]!(request, response, nth);
  };

/** Takes the request and says nothing. */
export const silence: Answer = () => undefined;

/** Ends the connection instead of answering. */
export const hangUp: Answer = (request) => {
  request.socket.destroy();
};

/** Writes to the connection, past HTTP, and ends it. */
export const raw =
  (text: string): Answer =>
  (request) => {
    request.socket.end(text);
  };

/** Sends the same again and again, as long as somebody takes it, without saying how much it will be. */
export const endlessBytes =
  (piece: Buffer): Answer =>
  (_, response) => {
    const send = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', send);
    send();
  };

export const endless = endlessBytes(Buffer.alloc(64 * 1024, 'x'));

type FileConduct = {
  /** As they stand in the headers; If-Range is answered by them. */
  etag?: string;
  modified?: Date;
  headers?: Record<string, string>;
  /** After so many bytes of the answer the connection breaks. */
  breaksAfter?: number;
  /** After so many bytes of the answer nothing comes any more. */
  stopsAfter?: number;
  /** Without Content-Length. */
  isChunked?: boolean;
  /** `none`: the whole file, always; `any`: whatever version is asked for. */
  parts?: 'none' | 'any';
};

/** A file, whole or in the part that is asked for (RFC 9110, 13.1.5 and 14). */
export const file =
  (bytes: Buffer, how: FileConduct = {}): Answer =>
  (request, response) => {
    const start = firstByte(request.headers, how);
    if (start > bytes.length) return void response.writeHead(416).end();
    const part = bytes.subarray(start);
    const isPart = start > 0;
    response.writeHead(isPart ? 206 : 200, {
      ...(how.etag === undefined ? {} : { etag: how.etag }),
      ...(how.modified === undefined ? {} : { 'last-modified': how.modified.toUTCString() }),
      ...(how.isChunked ? {} : { 'content-length': part.length }),
      ...(isPart ? { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` } : {}),
      ...how.headers,
    });
    const until = how.breaksAfter ?? how.stopsAfter;
    if (until === undefined) return void response.end(part);
    response.flushHeaders();
    response.write(part.subarray(0, until), () => {
      if (how.breaksAfter !== undefined) request.socket.destroy();
    });
  };

function firstByte({ range, 'if-range': version }: IncomingHttpHeaders, how: FileConduct): number {
  const isAsked = how.parts === 'any' || version === how.etag || version === how.modified?.toUTCString();
  return range === undefined || how.parts === 'none' || !isAsked ? 0 : Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
}

type Certificate = { key: string; cert: string };

/** Has this process trust them too, until the test file ends. */
export function trust(...certificates: Certificate[]): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, ...certificates.map(({ cert }) => cert)]);
  onFileEnd(async () => setDefaultCACertificates(before));
}

const run = promisify(execFile);

type CertificateSettings = {
  name?: string;
  subject?: string;
  days?: number;
  keyType?: 'ec' | 'rsa';
  /** More of them, as a configuration of openssl has them: `oid=value`. */
  extensions?: string[];
};

/** A key for elliptic curves is drawn in no time, one of RSA in some tenths of a second. */
const KEY_OPTIONS = { ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'], rsa: ['-newkey', 'rsa:2048'] };

/** A certificate that is its own authority, for localhost unless told, made by the `openssl` command. */
export async function certificate({
  name = 'localhost',
  subject = '',
  days = 1,
  keyType = 'ec',
  extensions = [],
}: CertificateSettings = {}): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-certificate-'));
  const path = (file: string) => join(folder, file);
  try {
    await writeFile(path('names'), [`subjectAltName=DNS:${name}`, ...extensions, ''].join('\n'));
    await run('openssl', [
      'req',
      '-new',
      ...KEY_OPTIONS[keyType],
      '-nodes',
      '-utf8',
      '-subj',
      subject || `/CN=${name}`,
      '-keyout',
      path('key'),
      '-out',
      path('request'),
    ]);
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      path('request'),
      '-signkey',
      path('key'),
      '-days',
      String(days),
      '-extfile',
      path('names'),
      '-out',
      path('cert'),
    ]);
    return { key: await readFile(path('key'), 'utf8'), cert: await readFile(path('cert'), 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
