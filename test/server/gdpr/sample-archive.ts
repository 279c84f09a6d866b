import type { Tx } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { archiveUrl } from '../../../store/gdpr/archives.ts';
import { listGdprPeople } from '../../../store/gdpr/requests.ts';
import type { TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import type { World } from '../../harness/core/world.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';

/** A request for the data of the sample's person that was treated, and by what its archive can be fetched. */
export type SampleArchive = { archiveId: string; signature: string };

const TEXT = 'not even a ZIP file';

export async function insertSampleArchive(
  tx: Tx,
  { files, secrets }: Pick<TestStore, 'files' | 'secrets'>,
  world: World,
  person: string,
): Promise<SampleArchive> {
  const { entity } = world;
  const request = await requestByApi(tx, 'access', world, [person]);
  const key = `access/${request.identifier}/1-sample.zip`;
  await files.put(key, asBytes(TEXT));
  await tx.query(
    `UPDATE gdpr_request_people SET state = 'treated', treated_at = now(), archive_key = $3, archive_bytes = $4, archive_sha256 = '\\x00'
     WHERE entity_id = $1 AND request_id = $2`,
    [entity.id, request.id, key, TEXT.length],
  );
  await tx.query(
    `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + interval '7 days'
     WHERE entity_id = $1 AND id = $2`,
    [entity.id, request.id],
  );
  const [treated] = await listGdprPeople(tx, entity.id, request.id);
  const signature = archiveUrl('', secrets, request, treated!)!.split('/').at(-1)!;
  rememberSecret(signature);
  return { archiveId: request.identifier, signature };
}
