import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import { fieldOf, locationWords } from '../../../domain/gdpr/personal-data-words.ts';
import { insertPasswordReset } from '../../../store/accounts/password-resets.ts';
import { updateUser } from '../../../store/accounts/users.ts';
import { write } from '../../../store/core/database.ts';
import { checkFileStore } from '../../../store/core/file-store-marker.ts';
import { asBytes } from '../../../store/core/files.ts';
import { personalData, withoutPersonalData } from '../../../store/gdpr/personal-data-registry.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { accountPost } from '../../harness/accounts/accounts.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { samplePerson } from '../../harness/gdpr/sample-person.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { deleteGoneUnreadableMails, listUnreadableMails } from '../../../store/gdpr/kept-values.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const registered = new Map(personalData.map((place) => [place.name, place]));

describe('the personal-data registry', () => {
  it('knows every table, and every column of those that may tell of a person', async () => {
    const { rows } = await store.db.query<{ table_name: string; columns: string[] }>(
      `SELECT table_name, array_agg(column_name::text) AS columns FROM information_schema.columns
       WHERE table_schema = 'public' AND NOT (SELECT relispartition FROM pg_class WHERE oid = table_name::regclass)
       GROUP BY table_name`,
    );
    const tables = new Map(rows.map((row) => [row.table_name, row.columns]));
    const named = [...registered.keys(), ...withoutPersonalData].filter((name) => !name.endsWith('/'));
    expect(new Set(named)).toEqual(new Set(tables.keys()));
    for (const [name, columns] of tables) {
      const place = registered.get(name);
      if (place) expect([name, new Set([...place.columns, ...place.otherColumns])]).toEqual([name, new Set(columns)]);
    }
  });

  it('knows every area of the file store', async () => {
    await samplePerson(store, await makeWorld(store), 1);
    await checkFileStore(store.db, store.files);
    const areas = [...registered.keys(), ...withoutPersonalData].filter((name) => name.endsWith('/'));
    const found = new Set<string>();
    for await (const { key } of store.files.list('')) {
      expect(areas).toContain(`${key.split('/')[0]}/`);
      found.add(`${key.split('/')[0]}/`);
    }
    expect(found).toEqual(new Set(areas));
  });

  it.for(personalData.map(({ name }) => name))(
    'finds, shows and erases a person in %s, and nobody else',
    async (name) => {
      const place = registered.get(name)!;
      const world = await makeWorld(store);
      const [person, another] = [await samplePerson(store, world, 2), await samplePerson(store, world, 3)];
      const records = await Array.fromAsync(place.export(store, world.entity.id, [person]));
      const words = locationWords(name);
      const unexplained = records
        .flatMap(Object.keys)
        .filter((field) => (fieldOf(words, field) ?? words.others) === undefined);
      expect([words.about === '', unexplained]).toEqual([false, []]);
      const shown = JSON.stringify(records);
      expect(shown).not.toBe('[]');
      if (!place.erase) return expect(shown).not.toContain(person.customerId); // it names nobody
      // Theirs are shown; texts that only hold their id are counted.
      expect(shown).toMatch(new RegExp(`${RegExp.escape(person.customerId)}|"matches":[1-9]`));
      expect(await place.count(store, world.entity.id, [person])).toBeGreaterThan(0);
      const before = await Array.fromAsync(place.export(store, world.entity.id, [another]));
      expect(await place.erase(store, world.entity.id, [person])).toBeGreaterThan(0);
      expect(await place.count(store, world.entity.id, [person])).toBe(0);
      expect(await place.erase(store, world.entity.id, [person])).toBe(0);
      const left = await Array.fromAsync(place.export(store, world.entity.id, [person]));
      // Their request for deletion tells that it was done, for a week.
      expect(JSON.stringify(left.filter((row) => row['request_type'] !== 'delete'))).not.toContain(person.customerId);
      expect(await Array.fromAsync(place.export(store, world.entity.id, [another]))).toEqual(before);
    },
  );
});

it('a pinned file whose end was noted before its deleter was killed goes, and is counted once', async () => {
  const world = await makeWorld(store);
  const person = await samplePerson(store, world, 4);
  const place = registered.get('imports/')!;
  let tallied = 0;
  const tally = async (_tx: unknown, files: number) => void (tallied += files);
  const killed = { ...store, tally, files: { ...store.files, delete: () => Promise.reject(new Error('killed')) } };
  await expect(place.erase!(killed, world.entity.id, [person])).rejects.toThrow('killed');
  expect([tallied, await place.count(store, world.entity.id, [person])]).toEqual([1, 1]);
  expect(await place.erase!({ ...store, tally }, world.entity.id, [person])).toBe(0);
  expect([tallied, await place.count(store, world.entity.id, [person])]).toEqual([1, 0]);
});

it('a pinned file that no import names, as its request died, keeps a deletion open until it goes', async () => {
  const world = await makeWorld(store);
  const person = { customerId: personId(5), customerType: 'user_id' as const };
  const place = registered.get('imports/')!;
  const key = 'imports/unnamed.csv';
  await store.files.put(key, asBytes(`user_id,attribute_key,value\n${person.customerId},plan,x\n`));
  const another = { ...person, customerId: personId(6) };
  expect(await place.count(store, world.entity.id, [another])).toBe(0);
  expect(await Array.fromAsync(place.export(store, world.entity.id, [person]))).toEqual([]);
  await place.erase!(store, world.entity.id, [person]); // its request may still be under way
  expect(await place.count(store, world.entity.id, [person])).toBe(1);
  const old = new Date(Date.now() - 301_000);
  await utimes(join(store.filesFolder, key), old, old);
  await place.erase!(store, world.entity.id, [person]);
  expect([await place.count(store, world.entity.id, [person]), await store.files.size(key)]).toEqual([0, null]);
});

it("a pinned file is searched in its own delimiter; one that was never read, and can't be searched, goes with any erasure", async () => {
  const world = await makeWorld(store);
  const person = { customerId: personId(7), customerType: 'user_id' as const };
  const place = registered.get('imports/')!;
  const put = async (fileKey: string, bytes: Buffer, fileSettings: object, fileFormat: object | null) => {
    await store.files.put(
      fileKey,
      (async function* () {
        yield bytes;
      })(),
    );
    const { id } = await insertUpload(store.db, store, world, { file: { fileKey }, fileSettings });
    await store.db.query(
      `UPDATE imports SET state = 'canceled', ended_at = now(), file_format = $3 WHERE entity_id = $1 AND id = $2`,
      [world.entity.id, id, fileFormat],
    );
  };
  const row = (who: string) => Buffer.from(`user_id;attribute_key;value\n${who};plan;x\n`);
  const format = { format: 'csv', delimiter: ';', encoding: 'utf-8', sheet: null, isZip: false, decimal: '.' };
  await put('imports/seven.csv', row(person.customerId), {}, format);
  await put('imports/eight.csv', row(personId(8)), {}, format);
  await put('imports/plain.csv', Buffer.from('no header'), {}, null);
  await put('imports/zip.csv', Buffer.from('PK\x03\x04'), {}, null);
  await put('imports/utf16.csv', Buffer.from('\ufeffx', 'utf16le'), {}, null);
  await put('imports/single.csv', Buffer.from('x'), { encoding: 'latin-1' }, null);
  expect(await place.count(store, world.entity.id, [person])).toBe(4);
  expect(await Array.fromAsync(place.export(store, world.entity.id, [person]))).toEqual([
    { file: 'imports/seven.csv', line: `${person.customerId};plan;x` },
  ]);
  expect(await place.erase!(store, world.entity.id, [person])).toBe(4);
  expect((await Array.fromAsync(store.files.list('imports/'), ({ key }) => key)).toSorted()).toEqual(
    expect.arrayContaining(['imports/eight.csv', 'imports/plain.csv']),
  );
  expect(await place.count(store, world.entity.id, [person])).toBe(0);
});

it('a pinned file is searched behind a quote that nothing closes, and within a record that is too long', async () => {
  const world = await makeWorld(store);
  const place = registered.get('imports/')!;
  const put = async (fileKey: string, text: string) => {
    await store.files.put(fileKey, asBytes(text));
    const { id } = await insertUpload(store.db, store, world, { file: { fileKey } });
    await store.db.query(`UPDATE imports SET state = 'finished', ended_at = now() WHERE entity_id = $1 AND id = $2`, [
      world.entity.id,
      id,
    ]);
  };
  const ended = (userId: string) => ({ customerId: userId, customerType: 'user_id' as const });
  // Reading goes by 256 KiB: these stand across an end of one, just before it, and as the beginning of a longer word
  // there.
  const header = 'user_id,attribute_key,value\nu1,size,"12 inches\n';
  const upTo = (text: string, bytes: number) =>
    `${text}${'row,size,5\n'.repeat(3e5).slice(0, bytes - text.length - 1)}\n`;
  const window = 256 * 1024;
  // The window begins with the piece, on the second line.
  const start = header.indexOf('u1,');
  let text = upTo(header, start + window - 6);
  text = upTo(`${text}across-erased,size,5\n`, start + 2 * window - 11);
  text = upTo(`${text}just-erased,size,5\n`, start + 3 * window - 12);
  text = upTo(`${text}start-erasedly,size,5\nönt-erased,size,5\n`, 2_300_000);
  await put('imports/unclosed.csv', `${text}alice-erased,size,5\n`);
  await put('imports/long.csv', `user_id,attribute_key,value\nu1,size,${'x'.repeat(2e6)} long-erased\nu2,size,5\n`);
  const matchesOf = (userId: string) => Array.fromAsync(place.export(store, world.entity.id, [ended(userId)]));
  for (const userId of ['u1', 'across-erased', 'just-erased', 'start-erasedly', 'alice-erased']) {
    expect([userId, await matchesOf(userId)]).toEqual([
      userId,
      expect.arrayContaining([{ within: 'imports/unclosed.csv', matches: 1 }]),
    ]);
  }
  expect(await matchesOf('long-erased')).toEqual([{ within: 'imports/long.csv', matches: 1 }]);
  for (const userId of ['start-erased', 'nt-erased', 'inches-12', 'erasedly-'])
    expect(await matchesOf(userId)).toEqual([]);
  expect(await place.erase!(store, world.entity.id, [ended('alice-erased')])).toBe(1);
  expect(await place.count(store, world.entity.id, [ended('alice-erased')])).toBe(0);
  expect(await store.files.size('imports/long.csv')).not.toBe(null);
});

it("an archive shows no link that sets a colleague's password, whose address is asked for as a customer's", async () => {
  const world = await makeWorld(store);
  const person = await samplePerson(store, world, 6);
  await insertPasswordReset(store.db, { email: person.customerId, userId: world.user.id });
  await updateUser(store.db, world.user.id, { email: person.customerId });
  const outbox = join(store.filesFolder, 'outbox');
  await (await accountPost(store, openMailer({ outbox: store.outbox, from: 'millrace@example.com' }))).deliver();
  const files = (await readdir(outbox)).filter((name) => name.endsWith('.eml'));
  const mails = await Promise.all(files.map((file) => readFile(join(outbox, file), 'utf8')));
  expect(mails.filter((mail) => mail.includes('A new password for Millrace'))).toHaveLength(1);
  const shown = JSON.stringify(
    await Array.fromAsync(registered.get('outbox/')!.export(store, world.entity.id, [person])),
  );
  expect(shown).toBe('[{"within":null,"matches":1}]');
});

it('an outbox file that is no mail holds up no deletion: it is moved aside, noted for staff, and searched as text', async () => {
  const world = await makeWorld(store);
  const person = await samplePerson(store, world, 14);
  const place = registered.get('outbox/')!;
  // More than the headers of a mail may have.
  await store.outbox.put(
    'broken-1.eml',
    asBytes(`X-Long: ${'x'.repeat(3 * 1024 * 1024)}\r\nTo: ${person.customerId}\r\n\r\n`),
  );
  await store.outbox.put('broken-2.eml', asBytes(`X-Long: ${'x'.repeat(3 * 1024 * 1024)}\r\n\r\nnobody`));
  const said: object[] = [];
  const deps = {
    ...store,
    log: {
      warn: (fields: object) => {
        said.push(fields);
      },
    },
  };
  await place.erase!(deps, world.entity.id, [person]);
  expect(await place.count(deps, world.entity.id, [person])).toBe(0);
  expect(said).toEqual(
    expect.arrayContaining([{ file: 'unreadable/broken-1.eml' }, { file: 'unreadable/broken-2.eml' }]),
  );
  const left = await Array.fromAsync(store.files.list('outbox/'), ({ key }) => key);
  expect(left.filter((key) => key.includes('broken'))).toEqual(['outbox/unreadable/broken-2.eml']);
  const noted = async () => {
    await deleteGoneUnreadableMails(store.db, store.files);
    return listUnreadableMails(store.db);
  };
  const file = 'outbox/unreadable/broken-2.eml';
  expect(await noted()).toEqual([{ place: 'outbox/', object: file, on: 'file', key: null, values: 0 }]);
  await store.files.delete(file);
  expect(await noted()).toEqual([]);
});

it('of steps under way a deletion waits for those that began before it, and it removes what a killed process has left', async () => {
  const world = await makeWorld(store);
  const person = await samplePerson(store, world, 8);
  const place = registered.get('scratch/')!;
  const look = async () => [
    await place.erase!(store, world.entity.id, [person]),
    await place.count(store, world.entity.id, [person]),
    (await Array.fromAsync(place.export(store, world.entity.id, [person]))).length,
  ];
  expect(await look()).toEqual([1, 0, 0]);
  const told = (folder: string) => writeFile(join(folder, 'events.csv'), `id,user_id\r\n1,"${person.customerId}"\r\n`);
  await store.scratch.withFolder(world.entity.id, 'archive', async (folder) => {
    await told(folder);
    expect(await look()).toEqual([0, 1, 0]);
    await place.erase!(store, (await makeWorld(store)).entity.id, [person]);
    expect(await readdir(folder)).toEqual(['events.csv']);
    const left = join(store.filesFolder, 'scratch', 'killed', String(world.entity.id), 'archive-1');
    await mkdir(left, { recursive: true });
    await told(left);
    expect(await look()).toEqual([1, 1, 0]);
    await store.db.query(`UPDATE tombstones SET raised_at = now() - interval '1 hour' WHERE entity_id = $1`, [
      world.entity.id,
    ]);
    expect(await look()).toEqual([0, 0, 0]);
  });
});

it('an erased id that led to others, or whose device another asked from, stands in no request', async () => {
  const world = await makeWorld(store);
  const { db } = store;
  const [erased, another] = [personId(9), personId(10)];
  const ids = [
    { customerType: 'user_id' as const, customerId: erased },
    { customerType: 'device_id' as const, customerId: `d-${erased}` },
  ];
  for (const type of ['access', 'delete']) {
    const {
      rows: [request],
    } = await db.query<{ id: number }>(
      `INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, requester_kind) VALUES ($1, $2, $3, 'api', 'user')
       RETURNING id`,
      [world.entity.id, `gdp_${randomBytes(8).toString('hex')}`, type],
    );
    const key = [world.entity.id, request!.id];
    await db.query(
      `INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, user_id, device_id) VALUES ($1, $2, 1, $3, $4)`,
      [...key, another, type === 'access' ? `d-${erased}` : null],
    );
    await db.query(
      `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin, via)
       VALUES ($1, $2, 'user_id', $3, 1, 'asked', NULL),
         ($1, $2, 'user_id', $4, 1, 'alias', $3), ($1, $2, 'user_id', 'a friend', 1, 'alias', $4),
         ($1, $2, 'push_token', 'token', 1, 'device', $5)`,
      [...key, another, erased, `d-${erased}`],
    );
    await db.query(
      `INSERT INTO gdpr_left_identifiers (entity_id, request_id, kind, value, ordinal, via, reason)
       VALUES ($1, $2, 'device_id', 'shared', 1, $3, 'shared')`,
      [...key, erased],
    );
  }
  const places = ['gdpr_identifiers', 'gdpr_left_identifiers', 'gdpr_request_people'].map((name) =>
    registered.get(name)!,
  );
  const count = () => Promise.all(places.map((place) => place.count(store, world.entity.id, ids)));
  expect(await count()).toEqual([6, 2, 1]);
  for (const place of places) await place.erase!(store, world.entity.id, ids);
  expect(await count()).toEqual([0, 0, 0]);
  const { rows } = await db.query(
    `SELECT FROM gdpr_identifiers g WHERE g::text LIKE $1 UNION ALL SELECT FROM gdpr_left_identifiers l WHERE l::text LIKE $1
     UNION ALL SELECT FROM gdpr_request_people p WHERE p::text LIKE $1`,
    [`%${erased}%`],
  );
  expect(rows).toEqual([]);
  const links = await db.query(`SELECT value, via FROM gdpr_identifiers WHERE entity_id = $1 ORDER BY value`, [
    world.entity.id,
  ]);
  expect(links.rows).toHaveLength(6);
});

it('an archive that is being written for somebody is given up before its row goes', async () => {
  const world = await makeWorld(store);
  const person = await samplePerson(store, world, 5);
  await store.db.query(
    `UPDATE gdpr_request_people SET state = 'building' WHERE entity_id = $1 AND archive_key IS NOT NULL`,
    [world.entity.id],
  );
  const look = async (): Promise<number[]> => {
    for (const name of ['access/', 'gdpr_request_people'])
      await registered.get(name)!.erase!(store, world.entity.id, [person]);
    return Promise.all(
      ['access/', 'gdpr_request_people'].map((name) => registered.get(name)!.count(store, world.entity.id, [person])),
    );
  };
  expect(await look()).toEqual([1, 1]);
  expect(await look()).toEqual([0, 0]);
});

describe('every table of an entity', () => {
  const EXCEPTED = [
    'entities',
    'users',
    'memberships',
    'tokens',
    'password_resets',
    'key_lookups',
    'login_attempts',
    'server_keys',
    'schema_migrations',
    'operator_notices',
    'unreadable_mails',
  ];

  it('has a key that begins with the entity', async () => {
    const { rows } = await store.db.query<{ table_name: string; first: string }>(
      `SELECT c.relname AS table_name, a.attname AS first FROM pg_index i
       JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
       WHERE i.indisprimary AND n.nspname = 'public'`,
    );
    const others = rows.filter(({ first }) => first !== 'entity_id').map(({ table_name: name }) => name);
    expect(new Set(others)).toEqual(new Set(EXCEPTED));
  });
});

describe('an id that is part of another, and one with quotes', () => {
  const person = (customerId: string): Person => ({ customerType: 'user_id', customerId });
  const [errors, files] = ['import_errors', 'imports/'].map((name) => registered.get(name)!);
  let world: World;

  beforeAll(async () => {
    world = await makeWorld(store);
    const fileKey = `imports/${world.entity.identifier}.csv`;
    const lines = [
      'user_id,attribute_key,value',
      '17,plan,gold',
      '42,score,70',
      '"o""neil",plan,gold',
      '7x"y,plan',
      'a 7 b"c,d',
    ];
    await store.files.put(fileKey, Readable.from([Buffer.from(lines.join('\n'))]));
    await write(store.db, async (tx) => {
      const job = await insertUpload(tx, store, world, { file: { fileKey, fileBytes: 1, sourceBytes: 1 } });
      const error = {
        errorType: 'PARSING_FAILED',
        outcome: 'failed',
        stage: 'parsing',
        message: 'x',
        attributeKey: null,
        originalLine: null,
        customerHash: null,
        customerId: null,
      } as const;
      await insertImportErrors(
        tx,
        world.entity.id,
        job.id,
        lines.map((raw, index) => ({ ...error, line: index + 1, raw })),
      );
    });
  });

  it.each([
    ['7', [], 1],
    ['17', ['17,plan,gold'], 1],
    ['o"neil', ['"o""neil",plan,gold'], 1],
    ['gold', [], 2],
  ])('%s is shown in its own records only, and counted elsewhere', async (id, own, named) => {
    const shown = await Array.fromAsync(files!.export(store, world.entity.id, [person(id)]));
    const file = `imports/${world.entity.identifier}.csv`;
    expect(shown).toEqual([
      ...own.map((line) => ({ file, line })),
      ...(own.length < named ? [{ within: file, matches: named }] : []),
    ]);
    const [counted, ...more] = await Array.fromAsync(errors!.export(store, world.entity.id, [person(id)]));
    expect([counted!['matches'], typeof counted!['within'], more]).toEqual([named, 'string', []]);
  });
});
