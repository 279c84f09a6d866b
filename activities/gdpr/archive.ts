import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { type ArchiveHead, archivePage, type PageSection } from '../../domain/gdpr/archive-page.ts';
import type { ShownWith } from '../../domain/gdpr/archive-record.ts';
import type { Files } from '../../store/core/files.ts';
import { archiveJson, countsOf, type ExportedLocation } from './archive-json.ts';

export type Archived = {
  bytes: number;
  sha256: Buffer;
  /** How many records there are, by place. */
  shown: Record<string, number>;
};

const README = `What is in this archive

index.html  to read: open it in any browser. It explains each field. Of very long lists it has the beginning.
data.json   for programs: all of it, as one JSON object. "data" has a list for each place where something is stored, "counts" how long
            each of them is. Dates are ISO 8601 in UTC; numbers are written with all of their digits.

It holds personal data: keep it where nobody else can read it, and delete it when it is no longer needed.
`;

/**
 * Puts a person's archive into the file store: a ZIP file, of which no more than a few pieces and what its page shows are in memory
 * at any time. `isWanted` is asked now and then, and throws where it is not.
 */
export async function putArchive(
  files: Files, key: string, head: ArchiveHead, { locations, shownWith, isWanted }:
  { locations: Iterable<ExportedLocation>; shownWith: ShownWith; isWanted: () => Promise<void> },
): Promise<Archived> {
  const hash = createHash('sha256');
  const sections: PageSection[] = [];
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const piece of zipped(archiveJson(head, locations, shownWith, sections), () => archivePage(head, sections))) {
      await isWanted();
      hash.update(piece);
      yield piece;
    }
  }
  const { sizeBytes } = await files.put(key, hashed());
  return { bytes: sizeBytes, sha256: hash.digest(), shown: countsOf(sections) };
}

/** The page is made once all of the data was read. Whoever stops taking bytes ends the reading, too. */
async function* zipped(json: AsyncGenerator<string>, page: () => string): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const bytes = zip.outputStream as Readable;
  const data = Readable.from(json, { objectMode: false });
  for (const source of [zip, data]) source.on('error', (error: Error) => bytes.destroy(error));
  zip.addBuffer(Buffer.from(README), 'README.txt');
  zip.addReadStream(data, 'data.json');
  zip.addReadStreamLazy('index.html', (take) => take(null, Readable.from([Buffer.from(page())])));
  zip.end();
  try {
    yield* bytes as AsyncIterable<Buffer>;
  } finally {
    data.destroy();
    bytes.destroy();
  }
}
