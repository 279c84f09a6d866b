import { buildConnector } from 'undici';
import { addressGuard, type Lookup } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';

/**
 * Connects to `url`'s host where the guard lets it. The guard looks three times: at an address in the URL, at what the
 * name resolves to, and, before a byte of the request is sent, at what the socket is connected to.
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
      // Undefined: the connection has ended already, and undici says so.
      if (socket.remoteAddress === undefined || guard.mayReach(socket.remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(guard.refusal(), null);
    });
  };
}
