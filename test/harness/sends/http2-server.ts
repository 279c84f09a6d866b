import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttp1Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { onFileEnd } from '../core/clean-up.ts';

export type Received = {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  certificate: PeerCertificate | null;
};

type Answered = { status: number; headers?: OutgoingHttpHeaders; body?: string };

/**
 * What happens to a request instead of an answer: `drop`: the connection breaks once the request is there; `refuse`:
 * its stream is refused unread; `reset`: its stream ends; `goaway`: the connection takes no more, beginning with this
 * request; `silence`: nothing.
 */
export type Disruption = 'drop' | 'refuse' | 'reset' | 'goaway' | 'silence';

type ServerSettings = {
  key: string;
  cert: string;
  streams?: number;
  /** Asks for a client's certificate; one that `ca` signed has to come where `ca` is given. */
  requestCert?: boolean;
  /** Takes HTTP/1.1 alone. */
  http1Only?: boolean;
  answer(request: Received): Answered | Promise<Answered>;
};

export type Http2Server = {
  origin: string;
  port: number;
  /** How many connections there were. */
  connections(): number;
  /** How many requests were under way at once, at most. */
  atOnce(): number;
  /** Has the next requests meet these, one each. */
  disrupt(...next: Disruption[]): void;
  /** Sends GOAWAY on all connections, with a reason, and takes no further request on them. */
  goAway(reason: string): void;
  close(): Promise<void>;
};

/** A real server for HTTP/2 over TLS on loopback. Ends with the test file. */
export async function http2Server({
  key,
  cert,
  streams = 100,
  requestCert = false,
  http1Only = false,
  answer,
}: ServerSettings): Promise<Http2Server> {
  const sessions = new Set<ServerHttp2Session>();
  const disruptions: Disruption[] = [];
  let connections = 0;
  let underWay = 0;
  let atOnce = 0;
  const server = http1Only
    ? createHttp1Server(
        { key, cert },
        (request, response) => void overHttp1(request, response, disruptions.shift(), answer),
      )
    : createSecureServer({
        key,
        cert,
        settings: { maxConcurrentStreams: streams },
        requestCert,
        rejectUnauthorized: false,
      });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session)).on('error', () => undefined);
  });
  server.on('sessionError', () => undefined).on('tlsClientError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const disruption = disruptions.shift();
    stream.on('error', () => undefined);
    if (disruption === 'refuse') return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    underWay += 1;
    atOnce = Math.max(atOnce, underWay);
    stream.on('close', () => {
      underWay -= 1;
    });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (disruption) return disrupt(stream, disruption);
      const certificate = requestCert ? peerOf(stream.session!.socket as TLSSocket) : null;
      void reply(stream, { path: headers[':path'] ?? '', headers, body: Buffer.concat(chunks), certificate }, answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  };
  onFileEnd(close);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `https://localhost:${port}`,
    connections: () => connections,
    atOnce: () => atOnce,
    disrupt: (...next) => void disruptions.push(...next),
    goAway(reason) {
      for (const session of sessions)
        session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from(JSON.stringify({ reason })));
    },
    close,
  };
}

function disrupt(stream: ServerHttp2Stream, disruption: Disruption): void {
  const { session } = stream;
  if (disruption === 'drop') session!.destroy();
  if (disruption === 'reset') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  if (disruption === 'goaway')
    session!.goaway(constants.NGHTTP2_NO_ERROR, stream.id! - 2, Buffer.from('{"reason":"Shutdown"}'));
}

async function reply(stream: ServerHttp2Stream, request: Received, answer: ServerSettings['answer']): Promise<void> {
  const { status, headers = {}, body = '' } = await answer(request);
  if (stream.destroyed) return;
  stream.respond({ ':status': status, ...headers });
  stream.end(body);
}

async function overHttp1(
  request: IncomingMessage,
  response: ServerResponse,
  disruption: Disruption | undefined,
  answer: ServerSettings['answer'],
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (disruption) return void request.socket.destroy();
  const {
    status,
    headers = {},
    body = '',
  } = await answer({
    path: request.url ?? '',
    headers: request.headers as IncomingHttpHeaders,
    body: Buffer.concat(chunks),
    certificate: null,
  });
  response.writeHead(status, headers as Record<string, string>).end(body);
}

function peerOf(socket: TLSSocket): PeerCertificate | null {
  const certificate = socket.getPeerCertificate();
  return Object.keys(certificate).length === 0 ? null : certificate;
}
