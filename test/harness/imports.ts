import type { FastifyInstance } from 'fastify';
import { findImport, type Import } from '../../store/imports.ts';
import type { TestStore } from './database.ts';
import { waitFor } from './wait.ts';
import type { World } from './world.ts';

const BOUNDARY = 'millrace-test-boundary';

/** A web form with the SoR's credentials and a file, as an HTTP client sends it. */
export function importForm(world: World, file: string | Buffer): { headers: Record<string, string>; payload: Buffer } {
  const field = (name: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    payload: Buffer.concat([
      Buffer.from(field('sor_id', world.sor.identifier) + field('api_key', world.apiKey) + field('skip_email', 'true')),
      Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="values.csv"\r\ncontent-type: text/csv\r\n\r\n`),
      Buffer.from(file),
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  };
}

/** Posts a file and returns the import's identifier. */
export async function postImport(app: FastifyInstance, world: World, file: string | Buffer, version: 2 | 3 = 3): Promise<string> {
  const { headers, payload } = importForm(world, file);
  const accept = version === 3 ? 'application/vnd.svc.v3' : 'application/json';
  const reply = await app.inject({ method: 'POST', url: '/api/attribute_values/batch_import', headers: { ...headers, accept }, payload });
  if (reply.statusCode !== 200) throw new Error(`the import was refused: ${reply.body}`);
  return (reply.json() as { result: { import_id: string } }).result.import_id;
}

/** Waits for the end of an import. */
export function importEnded({ db }: TestStore, world: World, identifier: string, withinMs = 60_000): Promise<Import> {
  return waitFor(`the end of import ${identifier}`, async () => {
    const job = await findImport(db, world.entity.id, identifier);
    return job?.endedAt ? job : null;
  }, withinMs);
}
