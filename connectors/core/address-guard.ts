import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Refusal } from '../../domain/core/refusal.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { sourceRefusal } from './source-refusal.ts';

/** All addresses of a name, as `lookup` of `node:dns/promises` gives them with `all`. */
export type Lookup = (name: string) => Promise<LookupAddress[]>;

export const systemLookup: Lookup = (name) => lookUp(name, { all: true });

/**
 * What may be connected to for a host: public addresses, and those that `allow` covers. The addresses that are looked
 * at are those that are connected to, so a name that resolves to something else the next time gains nothing.
 */
export type AddressGuard = {
  /** An address that stands for the host itself is none that may be reached. */
  isRefused: boolean;
  mayReach(address: string): boolean;
  refusal(): Refusal;
  /**
   * For `net.connect` and what is made of it: of a name's addresses those that may be reached, tried beside each other.
   */
  ways: { lookup: LookupFunction; autoSelectFamily: true; autoSelectFamilyAttemptTimeout: number };
};

/** How long one of a name's addresses may take before the next is tried beside it. */
const NEXT_ADDRESS_MS = 1500;

/** `shown` is how messages name the host. */
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

/** A look-up as `net.connect` wants it: one address or all of them. */
function lookupThrough(find: Lookup): LookupFunction {
  return (name: string, { all }: LookupOptions, callback) => {
    find(name).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
    );
  };
}

/**
 * Addresses that are given out to anybody (RFC 4291, 2.4); ipaddr.js counts what nobody has assigned yet as unicast.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Azure's host as its machines see it: an address that is public by its number only. */
const METADATA = new Set(['168.63.129.16']);

/**
 * Whether an address, in the spelling of a resolver or a socket, is public unicast. Addresses that carry an IPv4
 * address within (mapped, compatible, NAT64, 6to4, Teredo) are not, whichever it is: where they lead is up to a
 * gateway.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || METADATA.has(parsed.toString())) return false;
  return !(parsed instanceof ipaddr.IPv6) || parsed.match(GLOBAL_UNICAST);
}
