import { refuse } from '../domain/refusal.ts';
import { networkOf } from './network-of.ts';

/** How much is kept of what came before its credentials, all callers together and of one network. */
export type UploadBudget = {
  /** Takes so many bytes, or refuses. */
  take(address: string, bytes: number): void;
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
      if (after > unverifiedBytesPerAddress || total + bytes > unverifiedBytes) {
        const message = 'Too much is stored without credentials: put sor_id and api_key before the file';
        refuse(413, 'payload_too_large', message);
      }
      taken.set(network, after);
      total += bytes;
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
