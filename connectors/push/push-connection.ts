import { isIP } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { addressGuard, type Lookup, systemLookup } from '../core/address-guard.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';

/** A client's certificate, where the other side asks for one. */
export type ClientCertificate = Pick<ConnectionOptions, 'cert' | 'key'>;

type Way = {
  allow: FetchAllow;
  lookup?: Lookup | undefined;
  connectMs: number;
  certificate?: ClientCertificate | undefined;
};

/** Port and bare host of an https:// origin. */
function hostAndPort(origin: URL): { host: string; port: number } {
  return { host: origin.hostname.replace(/^\[|\]$/g, ''), port: Number(origin.port) || 443 };
}

/**
 * A TLS connection through the guard of addresses, over which HTTP/2 is spoken if its `alpnProtocol` is h2. Nothing but
 * the handshake is sent before the guard has looked at the address.
 */
export async function pushConnection(
  origin: URL,
  { allow, lookup = systemLookup, connectMs, certificate = {} }: Way,
): Promise<TLSSocket> {
  const { host, port } = hostAndPort(origin);
  const guard = addressGuard({ host, port, shown: origin.host }, allow, lookup);
  if (guard.isRefused) throw guard.refusal();
  const socket = connect({
    host,
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['h2', 'http/1.1'],
    ...guard.ways,
    ...certificate,
  });
  const timer = setTimeout(
    () => socket.destroy(sourceRefusal('source_unavailable', `${origin.host} did not take the connection in time`)),
    connectMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject);
    });
  } finally {
    clearTimeout(timer);
  }
  if (socket.remoteAddress === undefined || guard.mayReach(socket.remoteAddress)) return socket;
  socket.destroy();
  throw guard.refusal();
}
