import type pg from 'pg';
import type { RunningService } from './service.ts';

/**
 * What one side left to clean up is not to be cleaned up in the time of the other, nor what an import or a sync left to
 * be done later in that of the next one: whoever lists customers has those of all merges added.
 */
export async function settle(client: pg.Client, { url, token }: RunningService): Promise<void> {
  const listed = await fetch(`${url}/api/customer_profiles?num_per_page=1`, {
    headers: { authorization: `Token ${token}` },
  });
  if (!listed.ok) throw new Error(await listed.text());
  await listed.text();
  await client.query('VACUUM (ANALYZE) attribute_values, bare_values, sync_records');
  await client.query('CHECKPOINT');
}
