import type { Queryable } from '../../../store/core/database.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import type { DataExporter, ExporterSecrets, NewExporter } from '../../../store/exports/data-exporter-record.ts';
import { insertExporter } from '../../../store/exports/data-exporters.ts';
import { rememberSecret } from '../core/people.ts';
import type { World } from '../core/world.ts';

const KEYS: ExporterSecrets = {
  accessKeyId: 'AKIDSTOREDEXPORTER',
  secretAccessKey: 'the secret of a stored exporter',
  encryptionKey: null,
};

/** The row of an exporter of no app, not active, for tests that need no bucket. */
export async function storedExporter(
  tx: Queryable,
  secrets: Secrets,
  { entity, user }: Pick<World, 'entity' | 'user'>,
  { secrets: keys = KEYS, ...exporter }: Partial<NewExporter> & { secrets?: ExporterSecrets } = {},
): Promise<DataExporter> {
  for (const key of [keys.secretAccessKey, keys.encryptionKey]) if (key !== null) rememberSecret(key);
  return insertExporter(tx, secrets, entity.id, {
    name: 'Nightly',
    type: 'aws_secret_key',
    bucketName: 'exports',
    subfolder: 'daily',
    region: 'eu-west-1',
    endpoint: null,
    accountId: null,
    roleName: null,
    appIds: [],
    sorIds: [],
    exportedData: ['logs'],
    format: 'csv',
    includeHeaders: false,
    serverSideEncryption: null,
    kmsKeyId: null,
    contentMd5: false,
    encryptionType: null,
    partBytes: 512 * 1024 ** 2,
    exportsSince: null,
    notifyEmails: [],
    notifyConnections: [],
    ...exporter,
    secrets: keys,
    createdBy: user.id,
  });
}
