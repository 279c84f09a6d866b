import { Socket } from 'node:net';
import { addressGuard, type Lookup, systemLookup } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';

/**
 * A socket, not connected yet, for a client of any protocol: wherever the client has it connect, it connects to `host`
 * where the guard lets it. As with HTTP, the guard looks at an address that stands for the host, at what the name
 * resolves to, and, before a byte is sent, at what the socket is connected to. A refusal is the socket's error.
 */
export function guardedSocket(host: string, port: number, allow: FetchAllow, lookup: Lookup = systemLookup): Socket {
  const guard = addressGuard({ host, port, shown: `${host}:${port}` }, allow, lookup);
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  // Before the client's own listeners, so that it writes to a socket that has ended.
  socket.once('connect', () => {
    if (socket.remoteAddress !== undefined && !guard.mayReach(socket.remoteAddress)) socket.destroy(guard.refusal());
  });
  const guarded = () => (guard.isRefused ? socket.destroy(guard.refusal()) : connect({ host, port, ...guard.ways }));
  return Object.assign(socket, { connect: guarded });
}
