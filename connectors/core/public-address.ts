import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

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
