import { buffer } from 'node:stream/consumers';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';

/** The names, comments and contents of a zip's entries; none where it is no zip. */
export function entriesOfZip(bytes: Buffer): Promise<Buffer[]> {
  return new Promise((resolve) => {
    fromBuffer(bytes, { lazyEntries: true }, (error, zip) => {
      if (error) resolve([]);
      else resolve(readEntries(zip).catch(() => []));
    });
  });
}

function readEntries(zip: ZipFile): Promise<Buffer[]> {
  const read: Buffer[] = [Buffer.from(zip.comment)];
  return new Promise((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      read.push(Buffer.from(entry.fileName), Buffer.from(entry.fileComment));
      zip.openReadStream(entry, (error, stream) => {
        if (error) return reject(error);
        void buffer(stream).then((content) => {
          read.push(content);
          zip.readEntry();
        }, reject);
      });
    });
    zip.once('end', () => resolve(read)).once('error', reject);
    zip.readEntry();
  });
}
