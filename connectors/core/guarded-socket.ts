import { Socket } from 'node:net';
import { addressGuard, type Lookup, systemLookup } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';

/**
 * Returns an unconnected socket for a client of any protocol: wherever the client connects it, it connects to `host` if
 * the guard allows it. As with HTTP, the guard checks an address as host, the addresses of a name and, before a byte is
 * sent, the socket's address. A refusal is the socket's error.
 */
export function guardedSocket(host: string, port: number, allow: FetchAllow, lookup: Lookup = systemLookup): Socket {
  const guard = addressGuard({ host, port, shown: `${host}:${port}` }, allow, lookup);
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  // Before the client's own listeners, so that the client writes to an ended socket.
  socket.once('connect', () => {
    if (socket.remoteAddress !== undefined && !guard.mayReach(socket.remoteAddress)) socket.destroy(guard.refusal());
  });
  const guarded = () => (guard.isRefused ? socket.destroy(guard.refusal()) : connect({ host, port, ...guard.ways }));
  return Object.assign(socket, { connect: guarded });
}
