import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { type ArchiveHead, archivePage, type PageSection } from '../../domain/gdpr/archive-page.ts';
import type { ShownWith } from '../../domain/gdpr/archive-record.ts';
import type { Files } from '../../store/core/files.ts';
import { archiveJson, countsOf, type ExportedLocation } from './archive-json.ts';
import { ArchiveTables } from './archive-tables.ts';

export type Archived = {
  bytes: number;
  sha256: Buffer;
  /** How many records there are, by location. */
  shown: Record<string, number>;
  /** The other users whose records it has. */
  others: string[];
};

const README = `What is in this archive

index.html  to read: open it in any browser, or print it. It says in words what is stored. Of very long lists it has the beginning.
data.json   for programs: all of it, as one JSON object. "data" has a list for each location where something is stored, "counts" how
            long each of them is. Dates are ISO 8601 in UTC; numbers are written with all of their digits.
csv/        the same lists, each as a table: CSV in UTF-8, with a line of column names. fields.csv says what the columns are. Lists
            within a cell are JSON. Values stand as they are stored: import them as text, since a spreadsheet takes some for formulas.

It holds personal data: keep it where nobody else can read it, and delete it when it is no longer needed.
`;

/**
 * Puts a person's archive into the file store: a ZIP file, of which no more than a few pieces and what its page shows
 * are in memory at any time; its tables lie in `folder` meanwhile. It calls `isWanted` now and then, which throws if
 * the archive is no longer wanted. When it ends, all writes to the folder have ended.
 */
export async function putArchive(
  files: Files,
  key: string,
  head: ArchiveHead,
  {
    locations,
    shownWith,
    isWanted,
    folder,
  }: { locations: Iterable<ExportedLocation>; shownWith: ShownWith; isWanted: () => Promise<void>; folder: string },
): Promise<Archived> {
  const hash = createHash('sha256');
  const sections: PageSection[] = [];
  const others = new Set<string>();
  const tables = new ArchiveTables(folder);
  const json = archiveJson(head, locations, shownWith, { sections, tables, others });
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const piece of zipped(json, async () => ({
      page: archivePage(head, sections),
      tables: await tables.end(),
    }))) {
      await isWanted();
      hash.update(piece);
      yield piece;
    }
  }
  const bytes = hashed();
  try {
    const { sizeBytes } = await files.put(key, bytes);
    return { bytes: sizeBytes, sha256: hash.digest(), shown: countsOf(sections), others: [...others] };
  } finally {
    await bytes.return(undefined);
    await json.return(undefined);
    await tables.settled();
  }
}

type Rest = { page: string; tables: { name: string; path: string }[] };

/**
 * Page and tables are made while the data is read, and come after it. Ending the reading of bytes ends that of the
 * data, too.
 */
async function* zipped(json: AsyncGenerator<string>, rest: () => Promise<Rest>): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const bytes = zip.outputStream as Readable;
  const data = Readable.from(json, { objectMode: false });
  const fail = (error: Error) => bytes.destroy(error);
  for (const source of [zip, data]) source.on('error', fail);
  data.once(
    'end',
    () =>
      void rest()
        .then(({ page, tables }) => {
          zip.addBuffer(Buffer.from(page), 'index.html');
          for (const { name, path } of tables) zip.addFile(path, `csv/${name}`);
          zip.end();
        })
        .catch(fail),
  );
  zip.addBuffer(Buffer.from(README), 'README.txt');
  zip.addReadStream(data, 'data.json');
  try {
    yield* bytes as AsyncIterable<Buffer>;
  } finally {
    data.destroy();
    bytes.destroy();
  }
}
