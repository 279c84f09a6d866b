import { lookup } from 'node:dns/promises';
import { isIP, Socket } from 'node:net';
import type { FetchAllow } from './fetch-allow.ts';
import { type Lookup, lookupThrough, NEXT_ADDRESS_MS } from './guarded-connector.ts';
import { isPublicAddress } from './public-address.ts';
import { sourceRefusal } from './source-refusal.ts';

const find: Lookup = (name) => lookup(name, { all: true });

/**
 * A socket, not connected yet, for a client of any protocol: wherever the client has it connect, it connects to `host` at
 * public addresses, and at those that `allow` covers. As with HTTP, the guard looks at an address that stands for the
 * host, at what the name resolves to, and, before a byte is sent, at what the socket is connected to. A refusal is the
 * socket's error.
 */
export function guardedSocket(host: string, port: number, allow: FetchAllow, resolve: Lookup = find): Socket {
  const mayReach = (address: string) => isPublicAddress(address) || allow.allows(host, port, address);
  const refusal = () => sourceRefusal('address_refused', `${host}:${port} is not at a public address. Use one that is, or `
    + 'ask an operator to name this host in MILLRACE_FETCH_ALLOW');
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  const lookupGuarded = lookupThrough(async (name) => {
    const found = (await resolve(name)).filter(({ address }) => mayReach(address));
    if (found.length === 0) throw refusal();
    return found;
  });
  // Before the client's own listeners, so that it writes to a socket that has ended.
  socket.once('connect', () => {
    if (socket.remoteAddress !== undefined && !mayReach(socket.remoteAddress)) socket.destroy(refusal());
  });
  const guarded = () => {
    if (isIP(host) !== 0 && !mayReach(host)) return socket.destroy(refusal());
    return connect({
      host, port, lookup: lookupGuarded, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    });
  };
  return Object.assign(socket, { connect: guarded });
}
