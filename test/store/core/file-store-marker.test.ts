import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { takeOverOutbox } from '../../../runtime/outbox-folder.ts';
import { checkFileStore } from '../../../store/core/file-store-marker.ts';
import { filesIn, folderFiles, type Files } from '../../../store/core/files.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore } from '../../harness/core/database.ts';

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-marker-'));
  onFileEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const newFiles = async (): Promise<Files> => folderFiles(await newFolder());

it('a database starts with its own file store alone, whichever of its processes begins', async () => {
  const [own, empty] = [await newFiles(), await newFiles()];
  const { db } = await testStore();
  await Promise.all([checkFileStore(db, own), checkFileStore(db, own), checkFileStore(db, own)]);
  await checkFileStore(db, own);
  await expect(checkFileStore(db, empty)).rejects.toThrow(/^MILLRACE_FILES: this file store is empty or lacks its marker \(store\/id\)/);
  const another = await testStore();
  await checkFileStore(another.db, empty);
  await expect(checkFileStore(db, empty)).rejects.toThrow(/^MILLRACE_FILES: this file store belongs to another database/);
  // As a backup from before the id, or after the loss of the store is told.
  await db.query('DELETE FROM file_store');
  await checkFileStore(db, own);
  await expect(checkFileStore(db, empty)).rejects.toThrow('belongs to another database');
});

it('mails of a data folder move into the file store, and what is no mail stays', async () => {
  const [dataDir, files] = [await newFolder(), await newFiles()];
  const outbox = filesIn(files, 'outbox');
  await takeOverOutbox(dataDir, outbox);
  await mkdir(join(dataDir, 'outbox'));
  await writeFile(join(dataDir, 'outbox', '2026-01-01T00-00-00-000Z-00ff.eml'), 'To: a');
  await writeFile(join(dataDir, 'outbox', 'note.txt'), 'kept');
  await takeOverOutbox(dataDir, outbox);
  expect(await Array.fromAsync(outbox.list(''), ({ key }) => key)).toEqual(['2026-01-01T00-00-00-000Z-00ff.eml']);
  expect(await readdir(join(dataDir, 'outbox'))).toEqual(['note.txt']);
});
