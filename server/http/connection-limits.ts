import { maxHeaderSize, type Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyHttpOptions, FastifyInstance } from 'fastify';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Limits } from '../dependencies.ts';
import { networkOf } from './network-of.ts';
import { refusalBody } from './refusal-reply.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The credentials hold: the body may take its time, and is no longer counted. */
    verified(): void;
    isVerified: boolean;
  }
}

/** A path parameter is at most 256 characters, each at most four bytes, each byte written as %XX. */
const PARAMETER_LENGTH = 256 * 4 * 3;

/** How long a caller may take for headers, and how long a path parameter may be. A body may flow for any time. */
export function connectionOptions({ headersMs, bodyBytes }: Limits): FastifyHttpOptions<Server> {
  return {
    bodyLimit: bodyBytes,
    routerOptions: { maxParamLength: PARAMETER_LENGTH },
    http: { headersTimeout: headersMs, requestTimeout: 0, connectionsCheckingInterval: Math.min(headersMs, 2_000) },
    requestTimeout: 0,
    clientErrorHandler: (error, socket) => answerClientError(error, socket as Socket),
  };
}

/**
 * Bounds the connections that are open: one more is closed without an answer. Behind a proxy all come from its address,
 * and it is the proxy that bounds those of a caller.
 */
export function limitConnections({ server }: FastifyInstance, limits: Limits, isBehindProxy: boolean): void {
  const { connections, connectionsPerAddress } = limits;
  server.maxConnections = connections;
  if (isBehindProxy) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) return void socket.destroy(); // it has ended already
    const network = networkOf(socket.remoteAddress);
    const count = (open.get(network) ?? 0) + 1;
    if (count > connectionsPerAddress) return void socket.destroy();
    open.set(network, count);
    socket.once('close', () => {
      const left = open.get(network)! - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}

/**
 * Refuses with 408 a body of which nothing has come for a while, and one that takes long and whose credentials are
 * still to come.
 */
export function limitSlowBodies(app: FastifyInstance, { idleBodyMs, unverifiedMs }: Limits): void {
  app.decorateRequest('isVerified', false);
  app.decorateRequest('verified', function verified() {
    this.isVerified = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    const { raw } = request;
    if (!(raw.socket instanceof Socket)) return; // injected: there is no connection to wait on
    if (raw.headers['content-length'] === undefined && raw.headers['transfer-encoding'] === undefined) return;
    const refuseLate = (message: string) => {
      if (raw.complete) return;
      // The reader of the body learns of it as of a broken one; the connection stays to tell the caller.
      if (raw.listenerCount('error') > 0) raw.emit('error', new Refusal(408, 'request_timeout', message));
      else raw.destroy(); // it was answered before
    };
    raw.setTimeout(idleBodyMs, () => refuseLate(`Nothing of the body came for ${idleBodyMs / 1000} s`));
    const late = setTimeout(
      refuseLate,
      unverifiedMs,
      `No credentials came for ${unverifiedMs / 1000} s: send them first`,
    );
    request.verified = () => {
      request.isVerified = true;
      clearTimeout(late);
    };
    raw.once('end', () => raw.setTimeout(0));
    reply.raw.once('close', () => clearTimeout(late));
  });
}

/** What is not HTTP never becomes a request: it is answered here. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = clientRefusal(error.code);
  const body = JSON.stringify(refusalBody(refusal));
  socket.end(
    [
      `HTTP/1.1 ${refusal.http} ${STATUS_CODES[refusal.http]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function clientRefusal(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'request_timeout', 'The headers took too long');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Refusal(
      431,
      'headers_too_large',
      `The address and the headers are larger than ${maxHeaderSize / 1024} KiB: ask for fewer values at once`,
    );
  }
  return new Refusal(400, 'bad_request', 'This is not a valid HTTP request');
}

/**
 * Ends a connection as soon as it is answered while the server closes. Those that are idle when it begins are ended by
 * Node; one that answers then would stay open for as long as its client keeps it, and the server with it.
 */
export function endAnswered(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onResponse', async () => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections());
  });
}
