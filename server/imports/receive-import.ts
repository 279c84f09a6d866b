import type { Readable } from 'node:stream';
import { refuse } from '../../domain/core/refusal.ts';
import type { PinnedFile } from '../../store/imports/import-record.ts';
import { pinFile } from '../../store/imports/pin-file.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Circumstances, Upload } from '../http/route.ts';
import { findSorOfKey } from '../http/sor-key.ts';

/**
 * `release` gives back what the file took of its address's share, or of the quota, which has counted `countedBytes` of
 * it.
 */
export type ReceivedFile = { pinned: PinnedFile; countedBytes: number; release: () => void };

/** The file of a batch import: pinned as it comes, on credit where its credentials are still to come. */
export const importUpload: Upload<ReceivedFile> = {
  async receive(stream, fields, circumstances, deps) {
    const { sor_id, api_key } = fields;
    if (typeof sor_id !== 'string' || typeof api_key !== 'string') {
      return receiveUnverified(stream, circumstances, deps);
    }
    const sor = await findSorOfKey(deps, sor_id, api_key);
    circumstances.verified();
    const { take, release } = await deps.keptFiles.meter(sor);
    try {
      const pinned = await pinFile(deps.files, stream, { ...deps.limits, onStore: take });
      return { pinned, countedBytes: pinned.fileBytes, release };
    } catch (error) {
      release();
      throw error;
    }
  },
  identify: ({ pinned }) => `${pinned.sourceBytes} ${pinned.sourceSha256.toString('hex')}`,
  discard: ({ pinned }, { files }) => files.delete(pinned.fileKey),
  release: ({ release }) => release(),
};

async function receiveUnverified(
  stream: Readable,
  { address }: Circumstances,
  { files, limits, unverified }: RouteDependencies,
): Promise<ReceivedFile> {
  let taken = 0;
  const release = () => {
    unverified.giveBack(address, taken);
    taken = 0;
  };
  const onStore = (bytes: number) => {
    if (!unverified.take(address, bytes)) {
      refuse(
        413,
        'payload_too_large',
        'Too much is stored without credentials: put sor_id and api_key before the file',
      );
    }
    taken += bytes;
  };
  try {
    return { pinned: await pinFile(files, stream, { ...limits, onStore }), countedBytes: 0, release };
  } catch (error) {
    release();
    throw error;
  }
}
