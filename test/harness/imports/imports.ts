import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../../store/core/database.ts';
import { type StoredImportError, streamImportErrors } from '../../../store/imports/import-errors.ts';
import { findImport, type Import, insertImport, type NewImport } from '../../../store/imports/imports.ts';
import type { PinnedFile } from '../../../store/imports/pin-file.ts';
import type { TestStore } from '../core/database.ts';
import { waitFor } from '../core/wait.ts';
import type { World } from '../core/world.ts';

const BOUNDARY = 'millrace-test-boundary';

/** A web form with the SoR's credentials and a file, as an HTTP client sends it. */
export function importForm(
  world: World,
  file: string | Buffer,
  fields: Record<string, string> = {},
): { headers: Record<string, string>; payload: Buffer } {
  const field = (name: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    payload: Buffer.concat([
      Buffer.from(
        Object.entries({ sor_id: world.sor.identifier, api_key: world.apiKey, skip_email: 'true', ...fields })
          .map(([name, value]) => field(name, value))
          .join(''),
      ),
      Buffer.from(
        `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="values.csv"\r\ncontent-type: text/csv\r\n\r\n`,
      ),
      Buffer.from(file),
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  };
}

type PostOptions = { version?: 2 | 3; fields?: Record<string, string> };

/** Posts a file and returns the import's identifier. */
export async function postImport(
  app: FastifyInstance,
  world: World,
  file: string | Buffer,
  { version = 3, fields = {} }: PostOptions = {},
): Promise<string> {
  const { headers, payload } = importForm(world, file, fields);
  const accept = version === 3 ? 'application/vnd.svc.v3' : 'application/json';
  const reply = await app.inject({
    method: 'POST',
    url: '/api/attribute_values/batch_import',
    headers: { ...headers, accept },
    payload,
  });
  if (reply.statusCode !== 200) throw new Error(`the import was refused: ${reply.body}`);
  return (reply.json() as { result: { import_id: string } }).result.import_id;
}

/** Posts an import without a file, as JSON with the SoR's credentials, and returns its identifier. */
export async function startImportOf(
  app: FastifyInstance,
  world: World,
  fields: Record<string, unknown>,
): Promise<string> {
  const reply = await app.inject({
    method: 'POST',
    url: '/api/attribute_values/batch_import',
    headers: { accept: 'application/vnd.svc.v3' },
    payload: { sor_id: world.sor.identifier, api_key: world.apiKey, skip_email: true, ...fields },
  });
  if (reply.statusCode !== 200) throw new Error(`the import was refused: ${reply.body}`);
  return (reply.json() as { result: { import_id: string } }).result.import_id;
}

/** All errors of an import, in the order of the file. */
export function importErrors({ db }: TestStore, world: World, { id }: Import): Promise<StoredImportError[]> {
  return Array.fromAsync(streamImportErrors(db, world.entity.id, id));
}

/** The row of an accepted import, for tests that need no worker. */
export function insertUpload(
  tx: Queryable,
  { secrets }: TestStore,
  { entity, sor }: Pick<World, 'entity' | 'sor'>,
  { file, ...job }: Partial<NewImport> & { file?: Partial<PinnedFile> } = {},
): Promise<Import> {
  const none = Buffer.alloc(32);
  const source = {
    fileKey: `imports/${entity.identifier}.csv`,
    fileBytes: 0,
    fileSha256: none,
    sourceBytes: 0,
    sourceSha256: none,
    sourceGzip: false,
    sourceDefect: null,
    ...file,
  };
  return insertImport(tx, secrets, entity.id, { sorId: sor.id, version: 3, skipEmail: true, source, ...job });
}

/** Waits for the end of an import. */
export function importEnded({ db }: TestStore, world: World, identifier: string): Promise<Import> {
  return waitFor(`the end of import ${identifier}`, async () => {
    const job = await findImport(db, world.entity.id, identifier);
    return job?.endedAt ? job : null;
  });
}
