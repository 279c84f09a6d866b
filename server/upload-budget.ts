import { refuse } from '../domain/refusal.ts';

/** How much one address has stored of files whose credentials have not come yet. */
export type UploadBudget = {
  /** Takes so many bytes of the address's share, or refuses. */
  take(address: string, bytes: number): void;
  giveBack(address: string, bytes: number): void;
};

export function uploadBudget(bytesPerAddress: number): UploadBudget {
  const taken = new Map<string, number>();
  return {
    take(address, bytes) {
      const after = (taken.get(address) ?? 0) + bytes;
      if (after > bytesPerAddress) {
        const message = 'Too much is stored without credentials: put sor_id and api_key before the file';
        refuse(413, 'payload_too_large', message);
      }
      taken.set(address, after);
    },
    giveBack(address, bytes) {
      const after = (taken.get(address) ?? 0) - bytes;
      if (after > 0) taken.set(address, after);
      else taken.delete(address);
    },
  };
}
