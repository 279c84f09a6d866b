/** Limits the bytes that uploads without checked credentials may take, in total and by address. */
import ipaddr from 'ipaddr.js';
import { isIPv6 } from 'node:net';

/** Returns the address, or the /64 of an IPv6 address: one customer of a provider has all of it (RFC 6177). */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}

export type UploadBudget = {
  take(address: string, bytes: number): boolean;
  giveBack(address: string, bytes: number): void;
};

export type UploadLimits = {
  unverifiedBytes: number;
  unverifiedBytesPerAddress: number;
};

export function uploadBudget({ unverifiedBytes, unverifiedBytesPerAddress }: UploadLimits): UploadBudget {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    take(address, bytes) {
      const network = networkOf(address);
      const after = (taken.get(network) ?? 0) + bytes;
      if (after > unverifiedBytesPerAddress || total + bytes > unverifiedBytes) return false;
      taken.set(network, after);
      total += bytes;
      return true;
    },
    giveBack(address, bytes) {
      const network = networkOf(address);
      const after = (taken.get(network) ?? 0) - bytes;
      if (after > 0) taken.set(network, after);
      else taken.delete(network);
      total -= bytes;
    },
  };
}
