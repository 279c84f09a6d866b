import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The address, or of IPv6 its /64: one customer of a provider has all of that (RFC 6177). */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}
