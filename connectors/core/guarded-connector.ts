import { buildConnector } from 'undici';
import { addressGuard, type Lookup } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';

/**
 * Connects to `url`'s host if the guard allows it. The guard checks an address in the URL, the addresses of a name and,
 * before a byte of the request is sent, the socket's address.
 */
export function guardedConnector(
  url: URL,
  allow: FetchAllow,
  lookup: Lookup,
  connectMs: number,
): buildConnector.connector {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const guard = addressGuard({ host, port, shown: url.host }, allow, lookup);
  const connect = buildConnector({
    ...guard.ways,
    timeout: connectMs,
    allowH2: false,
    maxCachedSessions: 0,
    rejectUnauthorized: true,
  } as buildConnector.BuildOptions);

  return (target, callback) => {
    if (guard.isRefused) return callback(guard.refusal(), null);
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      // Undefined: the connection has ended, and undici reports it.
      if (socket.remoteAddress === undefined || guard.mayReach(socket.remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(guard.refusal(), null);
    });
  };
}
