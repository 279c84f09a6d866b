/** Guards against connections to private addresses. */
import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
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
