import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { FetchAllow } from './fetch-allow.ts';
import { isPublicAddress } from './public-address.ts';
import { sourceRefusal } from './source-refusal.ts';

/** All addresses of a name, as `lookup` of `node:dns/promises` gives them with `all`. */
export type Lookup = (name: string) => Promise<LookupAddress[]>;

/** How long one of a name's addresses may take before the next is tried beside it. */
export const NEXT_ADDRESS_MS = 1500;

/**
 * Connects to `url`'s host at public addresses, and at those that `allow` covers. The addresses that are looked at are
 * those that are connected to, so a name that resolves to something else the next time gains nothing. The guard looks
 * three times: at an address in the URL, at what the name resolves to, and, before a byte of the request is sent, at
 * what the socket is connected to.
 */
export function guardedConnector(
  url: URL, allow: FetchAllow, lookup: Lookup, connectMs: number,
): buildConnector.connector {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const mayReach = (address: string) => isPublicAddress(address) || allow.allows(host, port, address);
  const refusal = () => sourceRefusal('address_refused', `${url.host} is not at a public address. Use one that is, or `
    + 'ask an operator to name this host in MILLRACE_FETCH_ALLOW');

  const connect = buildConnector({
    lookup: lookupThrough(async (name) => {
      const found = (await lookup(name)).filter(({ address }) => mayReach(address));
      if (found.length === 0) throw refusal();
      return found;
    }),
    timeout: connectMs, allowH2: false, maxCachedSessions: 0, rejectUnauthorized: true,
    autoSelectFamily: true, autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  } as buildConnector.BuildOptions);

  return (target, callback) => {
    if (isIP(host) !== 0 && !mayReach(host)) return callback(refusal(), null);
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      // Undefined: the connection has ended already, and undici says so.
      if (socket.remoteAddress === undefined || mayReach(socket.remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(refusal(), null);
    });
  };
}

/** A look-up as `net.connect` wants it: one address or all of them. */
export function lookupThrough(find: Lookup): LookupFunction {
  return (name: string, { all }: LookupOptions, callback) => {
    find(name).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
    );
  };
}
