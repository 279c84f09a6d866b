import { networkOf } from './network-of.ts';

/** How much is kept of what came before its credentials, all callers together and of one network. */
export type UploadBudget = {
  /** Takes so many bytes; false where they are more than may be kept. */
  take(address: string, bytes: number): boolean;
  giveBack(address: string, bytes: number): void;
};

export type UploadLimits = {
  /** Of all together. */
  unverifiedBytes: number;
  /** Of one network (`networkOf`). */
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
