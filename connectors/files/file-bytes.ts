/** Bytes of an opened file, as a connector hands them on. */
import type { ConnectorContext } from '../core/contract.ts';

/** An opened file; read its bytes or end it. */
export type FileBytes = {
  /** Offset in the file of its first byte. */
  from: number;
  /** Identifies these exact bytes, so that reading may resume in the middle; null if the source has no such version. */
  version: string | null;
  /** Differs when the file has changed; null if unknown. */
  mark: string | null;
  /** Total size of its chunks; null if unknown. */
  bytes: number | null;
  chunks: AsyncIterable<Buffer>;
  /** Ends reading before the file's end. */
  context: Pick<ConnectorContext, 'signal' | 'maxDecompressedBytes' | 'scratch'>;
  end(): Promise<void>;
};

/** Opens a file at its start, or behind `from` bytes of `version`; if that is gone, at the start. */
export type OpenFile = (part?: { from: number; version: string }) => Promise<FileBytes>;
