import { beforeAll, describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import {
  deleteExporter,
  findExporter,
  findExporterById,
  listExporters,
  lockExporter,
  lockExporterById,
  openExporterSecrets,
  updateActive,
  updateExportedUntil,
  updateExporter,
  updateFailures,
  updatePaused,
  updateScheduledUntil,
} from '../../../store/exports/data-exporters.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';

let store: TestStore;
let world: World;

const SECRETS = {
  accessKeyId: 'AKIDOFATEST',
  secretAccessKey: 'a secret key of a test',
  encryptionKey: 'a key for files!',
};

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  for (const secret of Object.values(SECRETS)) rememberSecret(secret);
});

const stored = (changes: Parameters<typeof storedExporter>[3] = {}) =>
  storedExporter(store.db, store.secrets, world, changes);
const again = async ({ id }: DataExporter) => (await findExporterById(store.db, world.entity.id, id))!;
const secretsOf = ({ entityId, id }: DataExporter) => openExporterSecrets(store.db, store.secrets, entityId, id);

describe('the secrets of an exporter', () => {
  test('lie sealed in its row, and are opened there alone', async () => {
    const [one, other] = [await stored({ encryptionType: 'AES-128-CBC', secrets: SECRETS }), await stored()];
    expect(await secretsOf(one)).toEqual(SECRETS);
    expect(await secretsOf(other)).toMatchObject({ encryptionKey: null });
    const { rows } = await store.db.query<{ row: string }>(
      'SELECT x::text AS row FROM data_exporters x WHERE id = $1',
      [one.id],
    );
    for (const secret of Object.values(SECRETS)) expect(rows[0]!.row).not.toContain(secret);
    await store.db.query(
      'UPDATE data_exporters SET aws_access_key_id = aws_secret_access_key, aws_secret_access_key = aws_access_key_id WHERE id = $1',
      [other.id],
    );
    await expect(secretsOf(other)).rejects.toThrow(/authenticate/);
  });

  test('are gone with it, and its row stays for its runs', async () => {
    const exporter = await stored({ encryptionType: 'AES-128-CBC', secrets: SECRETS });
    await write(store.db, (tx) => deleteExporter(tx, world.entity.id, exporter.id));
    const { entityId, id, identifier } = exporter;
    const found = [await findExporter(store.db, entityId, identifier), await findExporterById(store.db, entityId, id)];
    const held = await write(store.db, async (tx) => [
      await lockExporter(tx, entityId, identifier),
      await lockExporterById(tx, entityId, id),
    ]);
    expect([...found, ...held]).toEqual([null, null, null, null]);
    expect((await listExporters(store.db, entityId)).map(({ id: other }) => other)).not.toContain(id);
    const { rows } = await store.db.query(
      'SELECT active, aws_access_key_id, aws_secret_access_key, encryption_key FROM data_exporters WHERE id = $1',
      [id],
    );
    expect(rows).toEqual([
      { active: false, aws_access_key_id: null, aws_secret_access_key: null, encryption_key: null },
    ]);
  });
});

describe('an exporter', () => {
  test('comes back as it was made and changed, each change with a revision of its own', async () => {
    const exportsSince = new Date('2026-01-01T00:00:00Z');
    const made = await stored({ exportsSince, notifyEmails: ['data@example.com'], partBytes: 5 * 1024 ** 3 });
    expect(made).toMatchObject({
      identifier: expect.stringMatching(/^exp_/) as string,
      active: false,
      failures: 0,
      paused: null,
      exportedUntil: null,
      revision: 1,
      partBytes: 5 * 1024 ** 3,
      exportsSince,
      notifyEmails: ['data@example.com'],
      createdBy: { id: world.user.id, uid: world.user.uid },
    });
    const role = {
      ...made,
      type: 'aws_account_id',
      accountId: '123456789012',
      roleName: 'millrace-exporter',
      format: 'parquet',
      secrets: { accessKeyId: null, secretAccessKey: null, encryptionKey: null },
    } as const;
    await write(store.db, (tx) => updateExporter(tx, store.secrets, made, role));
    const { secrets, ...changed } = role;
    expect(await again(made)).toMatchObject({ ...changed, revision: 2, updatedAt: expect.any(Date) as Date });
    expect(await secretsOf(made)).toEqual(secrets);
  });

  test('that is activated is paused no more, counts no failure, and wants a new Schedule', async () => {
    const exporter = await stored();
    const { entityId, id } = exporter;
    await updateFailures(store.db, entityId, id, 3);
    await updatePaused(store.db, entityId, id, 'three runs failed');
    expect(await again(exporter)).toMatchObject({ failures: 3, paused: { reason: 'three runs failed' } });
    await updateActive(store.db, entityId, id, true);
    const active = await again(exporter);
    expect(active).toMatchObject({ active: true, failures: 0, paused: null, scheduledUntil: null, revision: 2 });
    const until = new Date('2027-01-01T00:00:00Z');
    await updateScheduledUntil(store.db, exporter, until); // of the revision before
    expect((await again(exporter)).scheduledUntil).toBeNull();
    await updateScheduledUntil(store.db, active, until);
    expect((await again(exporter)).scheduledUntil).toEqual(until);
    await updatePaused(store.db, entityId, id, 'again');
    await updateActive(store.db, entityId, id, false);
    expect(await again(exporter)).toMatchObject({ active: false, paused: { reason: 'again' }, scheduledUntil: null });
  });

  test('goes on where the last good window ended, and never back', async () => {
    const exporter = await stored();
    const at = (day: number) => new Date(Date.UTC(2026, 0, day));
    const ended = (until: Date, startedAt: Date) =>
      updateExportedUntil(store.db, world.entity.id, exporter.id, { until, startedAt });
    await ended(at(3), at(4));
    expect(await again(exporter)).toMatchObject({ exportedUntil: at(3), initialRunAt: at(4), lastRunAt: at(4) });
    await ended(at(2), at(5));
    expect(await again(exporter)).toMatchObject({ exportedUntil: at(3), initialRunAt: at(4), lastRunAt: at(5) });
  });
});
