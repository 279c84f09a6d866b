/** The command `npm run keys`: shows and changes the server's keys. */
import { parseArgs } from 'node:util';
import { table } from '../cli/core/table.ts';
import { type Database, openDatabase } from '../store/core/database.ts';
import { checkFileStore } from '../store/core/file-store-marker.ts';
import type { Files } from '../store/core/files.ts';
import { migrate } from '../store/core/migrate.ts';
import { rotateDataKey, rotateSecretKey, countSealed } from '../store/core/rotate-keys.ts';
import { haveAlone } from '../store/core/running.ts';
import { chooseSecretKey, fingerprintOf, keyFile, listWrappedKeys } from '../store/core/server-keys.ts';
import { withDatabase } from './backends.ts';
import { CannotStart } from './cannot-start.ts';
import { type Config, readConfig } from './config.ts';
import { drawSecretKey, replaceSecretKey } from './embedded/secret-key.ts';
import { saidPlainly } from './entry.ts';
import { openFiles } from './open-files.ts';
import { folderError, reachDatabase } from './start-errors.ts';

const USAGE = `npm run keys -- show                  the server's keys, none of them itself
npm run keys -- rotate                a new data key; all that is stored sealed is sealed again by it
npm run keys -- rotate --wrapping     a new MILLRACE_SECRET_KEY: the one in MILLRACE_NEW_SECRET_KEY, or, where the
                                      data folder keeps it, one that is drawn there`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayAside = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs instead of the service, while it is stopped. */
await saidPlainly(async () => {
  const command = readCommand(process.argv.slice(2));
  if (command === 'help') return say(USAGE);
  const config = readConfig(process.env);
  await withDatabase(config, sayAside, async (backends) => {
    const db = openDatabase({ url: backends.databaseUrl, name: 'millrace-keys', max: 4 });
    try {
      await reachDatabase(db, backends.databaseUrl);
      await (command === 'show' ? show(config, db) : haveAlone(db, () => rotate(config, db, { ...backends, command })));
    } finally {
      await db.end();
    }
  }).catch((error: unknown) => {
    throw folderError(config, error);
  });
});

type Command = 'show' | 'rotate' | 'wrap' | 'help';

function readCommand(args: string[]): Command {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { wrapping: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    if (values.help) return 'help';
    const [command, ...rest] = positionals;
    if (rest.length === 0 && command === 'show' && !values.wrapping) return 'show';
    if (rest.length === 0 && command === 'rotate') return values.wrapping ? 'wrap' : 'rotate';
  } catch {
    // Reported like any other unknown command.
  }
  throw new CannotStart(USAGE);
}

async function show(config: Config, db: Database): Promise<void> {
  say(await keyTable(db, await openOwnFiles(config, db)));
}

/** Opens the files as a start does: migrates, and refuses another database's file store. */
async function openOwnFiles(config: Config, db: Database): Promise<Files> {
  await migrate(db);
  return checkFileStore(db, await openFiles(config));
}

type Dependencies = { db: Database; files: Files };
type Rotation = { command: Command; secretKey: Buffer; newSecretKey: Buffer | undefined };

async function rotate(config: Config, db: Database, { command, secretKey, newSecretKey }: Rotation): Promise<void> {
  const files = await openOwnFiles(config, db);
  if (command === 'wrap') return wrap(config, { db, files }, { secretKey, newSecretKey });
  const right = newSecretKey ? await chooseSecretKey(db, [secretKey, newSecretKey]) : secretKey;
  const { id, resealed, dropped } = await rotateDataKey({ db, files }, right);
  say(
    `data key ${id} seals everything now: ${resealed} values were sealed again${
      dropped.length === 0 ? '' : `, data key ${dropped.join(', ')} is gone`
    }`,
  );
}

async function wrap(
  config: Config,
  deps: Dependencies,
  { secretKey, newSecretKey }: Omit<Rotation, 'command'>,
): Promise<void> {
  const isKept = config.MILLRACE_SECRET_KEY === undefined;
  const to = newSecretKey ?? (isKept ? await drawSecretKey(config.MILLRACE_DATA_DIR) : refuseNoKey());
  sayAside(`from the secret key with fingerprint ${fingerprintOf(secretKey)} to that with ${fingerprintOf(to)}`);
  const keys = await rotateSecretKey(deps, secretKey, to);
  const place = isKept
    ? `${await replaceSecretKey(config.MILLRACE_DATA_DIR)} holds the one before`
    : 'keep the one before';
  say(
    `${keys} keys are wrapped by the new secret key, in the database and the file store; ${place}, for older backups`,
  );
  if (!isKept) say('set MILLRACE_SECRET_KEY to what MILLRACE_NEW_SECRET_KEY is, and MILLRACE_NEW_SECRET_KEY no more');
}

function refuseNoKey(): never {
  throw new CannotStart('MILLRACE_NEW_SECRET_KEY is required here: openssl rand -base64 32, and keep it');
}

/** Returns the keys' purpose, start and wrapping secret key; never a key itself. */
async function keyTable(db: Database, files: Files): Promise<string> {
  const sealed = await countSealed(db);
  const rows = await Promise.all(
    (await listWrappedKeys(db)).map(async ({ name, id, createdAt, ...row }) => {
      const copy = (await files.readAll(keyFile(name, id)))?.toString();
      const inFiles = copy === undefined ? 'missing' : copy === row.wrapped ? 'the same' : 'another';
      return [
        name,
        String(id),
        createdAt.toISOString().slice(0, 10),
        row.wrappedBy ?? 'unknown until the next start',
        inFiles,
        name === 'data' ? String(sealed.get(id) ?? 0) : '',
      ];
    }),
  );
  return table(['key', 'id', 'drawn', 'wrapped by', 'file store', 'values sealed'], rows);
}
