import { once } from 'node:events';
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onFileEnd } from './clean-up.ts';

/**
 * Instead of the S3's own: an answer 503, the connection broken before the request is through, or within the answer's
 * body.
 */
export type Break = 'slow down' | 'no answer' | { after: number } | null;

export type BrokenS3 = {
  endpoint: string;
  /** Decides on each request from now on; `nth` counts them from 0. */
  breakBy(decide: (request: IncomingMessage, nth: number) => Break): void;
  /** How many were broken since then. */
  broken(): number;
};

const SLOW_DOWN =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>';

/** Stands before an S3 and breaks what it is told to; all else goes through as it is, signatures included. */
export async function brokenS3(endpoint: string): Promise<BrokenS3> {
  const state = { decide: (() => null) as (request: IncomingMessage, nth: number) => Break, nth: 0, broken: 0 };
  const server = createServer((request, response) => {
    const fault = state.decide(request, state.nth);
    state.nth += 1;
    if (fault) state.broken += 1;
    const slowDown = () => response.writeHead(503, { 'content-type': 'application/xml' }).end(SLOW_DOWN);
    if (fault === 'slow down') request.resume().once('end', slowDown);
    else if (fault === 'no answer')
      request.once('data', () => request.socket.destroy()).once('end', () => request.socket.destroy());
    else pass(endpoint, request, response, fault?.after ?? Infinity);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakBy(decide) {
      Object.assign(state, { decide, nth: 0, broken: 0 });
    },
    broken: () => state.broken,
  };
}

function pass(endpoint: string, request: IncomingMessage, response: ServerResponse, cutAfter: number): void {
  const { method, headers, url = '/' } = request;
  const { hostname, port } = new URL(endpoint);
  const forwarded = ask({ hostname, port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    let bytes = 0;
    answer
      .on('data', (piece: Buffer) => {
        response.write(piece.subarray(0, Math.max(0, cutAfter - bytes)));
        bytes += piece.length;
        if (bytes > cutAfter) response.socket?.end();
      })
      .once('end', () => response.end());
  });
  forwarded.once('error', () => response.destroy());
  request.pipe(forwarded);
}
