/** Guards against connections to private addresses: over HTTP, and over sockets of any protocol. */
import ipaddr from 'ipaddr.js';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Refusal } from '../../domain/core/refusal.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { sourceRefusal } from './source-refusal.ts';

/** Returns all addresses of a name, as `lookup` of `node:dns/promises` does with `all`. */
export type Lookup = (name: string) => Promise<LookupAddress[]>;

export const systemLookup: Lookup = (name) => lookUp(name, { all: true });

/**
 * Limits connections to public addresses and those that `allow` covers. The checked addresses are those of the
 * connection, so a name that resolves differently the next time gains nothing.
 */
export type AddressGuard = {
  /** The host is an address that may not be reached. */
  isRefused: boolean;
  mayReach(address: string): boolean;
  refusal(): Refusal;
  /** Options for `net.connect` and its users: only the allowed addresses of a name, tried in parallel. */
  ways: { lookup: LookupFunction; autoSelectFamily: true; autoSelectFamilyAttemptTimeout: number };
};

/** Time after which the next address of a name is tried in parallel. */
const NEXT_ADDRESS_MS = 1500;

/** `shown`: the host's name in messages. */
export function addressGuard(
  { host, port, shown }: { host: string; port: number; shown: string },
  allow: FetchAllow,
  lookup: Lookup,
): AddressGuard {
  const mayReach = (address: string) => isPublicAddress(address) || allow.allows(host, port, address);
  const refusal = () =>
    sourceRefusal(
      'address_refused',
      `${shown} is not at a public address. Use one that is, or ` +
        'ask an operator to name this host in MILLRACE_FETCH_ALLOW',
    );
  const find = async (name: string) => {
    const found = (await lookup(name)).filter(({ address }) => mayReach(address));
    if (found.length === 0) throw refusal();
    return found;
  };
  return {
    isRefused: isIP(host) !== 0 && !mayReach(host),
    mayReach,
    refusal,
    ways: { lookup: lookupThrough(find), autoSelectFamily: true, autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS },
  };
}

/** Returns a look-up as `net.connect` wants it: one address or all of them. */
function lookupThrough(find: Lookup): LookupFunction {
  return (name: string, { all }: LookupOptions, callback) => {
    find(name).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
    );
  };
}

/** Assigned public addresses (RFC 4291, 2.4); ipaddr.js counts unassigned ones as unicast. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Azure's host as its machines see it: public only by its number. */
const METADATA = new Set(['168.63.129.16']);

/**
 * Returns whether an address, in the spelling of a resolver or a socket, is public unicast. Addresses that contain an
 * IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) are not: a gateway decides where they lead.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || METADATA.has(parsed.toString())) return false;
  return !(parsed instanceof ipaddr.IPv6) || parsed.match(GLOBAL_UNICAST);
}

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
