import type { ReadItem } from '../core/contract.ts';

/** Where a record begins: offset in the file (unzipped), in bytes, and its line, from 1. */
export type FileOffset = { offset: number; line: number };

export type FoundItem = {
  item: ReadItem;
  /** As it came, with its line end; of a record that is too long, what is kept of it. */
  bytes: number;
  /** Where reading goes on behind it. */
  after: FileOffset;
};

/** Makes records of a file's bytes, as they come. */
export type ItemReader = {
  /** The items that this chunk completes; to be read to the end before the next call. */
  push(chunk: Buffer): Iterable<FoundItem>;
  end(): Iterable<FoundItem>;
  /** The header's names; null before it was read, and where a format has none. */
  columns(): string[] | null;
};

/** Where a reader begins; behind the header its names are needed. */
export type Start = FileOffset & { columns: string[] | null };

export const FILE_START: Start = { offset: 0, line: 1, columns: null };
