import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { isAway, isInternal } from '../../../domain/core/internal-error.ts';
import { takeOverOutbox } from '../../../runtime/service.ts';
import { checkFileStore } from '../../../store/core/file-store-marker.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import { asBytes, filesIn, type Files } from '../../../store/core/files.ts';
import { openFile } from '../../../store/core/open-file.ts';
import { s3Files } from '../../../connectors/file-store/s3-files.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore } from '../../harness/core/database.ts';
import { filesInS3 } from '../../harness/core/open-test-files.ts';
import { personId } from '../../harness/core/people.ts';
import { testS3 } from '../../harness/core/s3.ts';

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
  await expect(checkFileStore(db, empty)).rejects.toThrow(
    /^MILLRACE_FILES: this file store is empty or lacks its marker \(store\/id\)/,
  );
  const another = await testStore();
  await checkFileStore(another.db, empty);
  await expect(checkFileStore(db, empty)).rejects.toThrow(
    /^MILLRACE_FILES: this file store belongs to another database/,
  );
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

/** Lists what each use of a store throws; null: nothing. */
async function failures(files: Files): Promise<(Error | null)[]> {
  const uses: (() => Promise<unknown>)[] = [
    () => files.put('imports/new.csv', asBytes('x')),
    () => files.readAll('imports/none.csv'),
    () => files.size('imports/none.csv'),
    () => buffer(files.read('imports/one.csv')),
    () => openFile(files, 'imports/one.csv'),
    () => Array.fromAsync(files.list('imports/')),
    () => files.delete('imports/one.csv'),
    () => files.check(),
    () => filesIn(files, 'outbox').check(),
  ];
  const thrown: (Error | null)[] = [];
  for (const use of uses)
    thrown.push(
      await use().then(
        () => null,
        (error: unknown) => error as Error,
      ),
    );
  return thrown;
}

it('a folder that is gone, empty or another store while the service runs is away: nothing is missing, written or made there', async () => {
  const folder = await newFolder();
  const { db } = await testStore();
  const files = await checkFileStore(db, folderFiles(folder));
  await files.put('imports/one.csv', asBytes('one'));
  const another = await newFolder();
  await checkFileStore((await testStore()).db, folderFiles(another));
  const moved = `${folder}-moved`;
  onFileEnd(() => rm(moved, { recursive: true, force: true }));
  await rename(folder, moved);
  const sayAway = (errors: (Error | null)[]) =>
    expect(errors.map((error) => [error?.name, isAway(error), isInternal(error)])).toEqual(
      errors.map(() => ['FileStoreAway', true, false]),
    );
  sayAway(await failures(files));
  await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(checkFileStore(db, folderFiles(folder))).rejects.toThrow('is empty or lacks its marker');
  await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  await mkdir(folder); // as a volume leaves it that is not mounted
  sayAway(await failures(files));
  await expect(files.check()).rejects.toThrow('the file store lacks its marker (store/id)');
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
  await rename(another, folder);
  await expect(files.put('imports/new.csv', asBytes('x'))).rejects.toThrow(
    "another file store is in place of this database's (store/id)",
  );
  expect(await readdir(folder)).not.toContain('imports');
  await rm(folder, { recursive: true });
  await rename(moved, folder);
  expect((await files.readAll('imports/one.csv'))?.toString()).toBe('one');
  expect(await failures(files)).toEqual(Array.from({ length: 9 }, () => null));
});

it('a bucket that lost its marker, or is gone, is away', async () => {
  const {
    settings: { endpoint, region, ...settings },
  } = await testS3();
  const { db } = await testStore();
  const bare = filesIn(filesInS3({ endpoint, region, ...settings }), 'marked');
  const files = await checkFileStore(db, bare);
  await files.put('imports/one.csv', asBytes('one'));
  expect((await buffer(files.read('imports/one.csv'))).toString()).toBe('one');
  await bare.delete('store/id');
  await expect(files.size('imports/none.csv')).rejects.toThrow('the file store lacks its marker (store/id)');
  await expect(files.delete('imports/one.csv')).rejects.toThrow('lacks its marker');
  await expect(Array.fromAsync(files.list('imports/'))).rejects.toThrow('lacks its marker');
  expect(await bare.size('imports/one.csv')).toBe(3);
  const credentials = { accessKeyId: settings.access_key_id, secretAccessKey: settings.secret_access_key };
  const none = s3Files(
    { bucket: 'no-such-bucket', prefix: '' },
    { endpoint, region, forcePathStyle: true, credentials },
  );
  await expect(none.check()).rejects.toMatchObject({ name: 'FileStoreAway' });
});

it('no location of files says that a person is nowhere while the file store is away', async () => {
  const folder = await newFolder();
  const { db, scratch, secrets } = await testStore();
  const files = await checkFileStore(db, folderFiles(folder));
  const deps = { db, scratch, secrets, files, outbox: filesIn(files, 'outbox') };
  await rm(folder, { recursive: true });
  const people = [{ customerType: 'user_id' as const, customerId: personId(77) }];
  for (const name of ['imports/', 'outbox/']) {
    const location = personalData.find((each) => each.name === name)!;
    await expect(location.count(deps, 1, people)).rejects.toThrow('file store');
    await expect(location.erase!(deps, 1, people)).rejects.toThrow('file store');
  }
});
