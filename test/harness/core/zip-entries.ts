import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Entry, fromBuffer, type Options, type ZipFile } from 'yauzl';

type Zip = { comment: string; entries: { name: string; comment: string; content: Buffer }[] };

/** What another program than ours makes of a zip. Fails where it is none. */
export async function readZip(bytes: Buffer): Promise<Zip> {
  const zip = await promisify<Buffer, Options, ZipFile>(fromBuffer)(bytes, { lazyEntries: true });
  const open = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
  const entries: Zip['entries'] = [];
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      void open(entry)
        .then(buffer)
        .then((content) => {
          entries.push({ name: entry.fileName, comment: entry.fileComment, content });
          zip.readEntry();
        })
        .catch(reject);
    });
    zip.once('end', resolve).once('error', reject);
    zip.readEntry();
  });
  return { comment: zip.comment, entries };
}
