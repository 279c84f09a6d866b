import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Refusal } from '../../domain/core/refusal.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { isPublicAddress } from './public-address.ts';
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
