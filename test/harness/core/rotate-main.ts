import { openDatabase } from '../../../store/core/database.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import { rotateDataKey, rotateSecretKey } from '../../../store/core/rotate-keys.ts';

/** A rotation that ends by SIGKILL the nth time it gets somewhere: `<url> <files> <from> <to, or -> <boundary> <n>`. */
const [url, folder, from, to, where, times] = process.argv.slice(2) as [string, string, string, string, string, string];
let left = Number(times);
const deps = {
  db: openDatabase({ url }),
  files: folderFiles(folder),
  boundary(at: string) {
    if (at !== where) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
};
const key = (text: string) => Buffer.from(text, 'base64');
await (to === '-' ? rotateDataKey(deps, key(from)) : rotateSecretKey(deps, key(from), key(to)));
