import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import type { Client } from '../../api/client.ts';
import type { LifeEntity } from './life.ts';

/** Counts, lists and files of the same rows say the same. */

type Broken = { what: string; details: string };

const FILE_WITHIN_MS = 300_000;

export async function checkCounts(client: Client, entity: LifeEntity): Promise<Broken[]> {
  return [...(await checkTracked(client, entity)), ...(await checkErrors(client, entity))];
}

/** Of what SDKs sent. */
async function checkTracked(client: Client, { app: { identifier: app } }: LifeEntity): Promise<Broken[]> {
  const input = { params: { app_identifier: app } };
  const file = { params: { app_identifier: app, format: 'csv' as const }, query: { skip_email: true } };
  const compared: [string, number, number][] = [
    ['events', (await client.listEvents(input)).total_items, await rowsOf(await client.exportEventsAs(file))],
    ['sessions', (await client.listSessions(input)).total_items, await rowsOf(await client.exportSessionsAs(file))],
    ['locations', (await client.listLocations(input)).total_items, await rowsOf(await client.exportLocationsAs(file))],
    ['devices', (await client.listDevices(input)).total_items, await rowsOf(await client.exportDevicesAs(file))],
  ];
  const today = Math.floor(Date.now() / 86_400_000) * 86_400;
  const query = { sd: String(today - 86_400), ed: String(today), only_current: true };
  const counted = Object.values(await client.countAppEvents({ ...input, query })).flat();
  const hits = counted
    .flatMap(({ hits: { current } }) => Object.values(current.values))
    .reduce((sum, each) => sum + each, 0);
  const walked = await Array.fromAsync(client.each.listEvents({ ...input, query: { per_page: 100 } }));
  compared.push(['counted events', hits, compared[0]![1]], ['walked events', walked.length, compared[0]![1]]);
  return compared
    .filter(([, one, other]) => one !== other)
    .map(([what, one, other]) => ({ what: `${what}: two ways to count differ`, details: `${one} and ${other}` }));
}

/**
 * For the imports that have ended: as many errors as failed and ignored rows; an empty cell of a table is ignored
 * without an error.
 */
async function checkErrors(client: Client, entity: LifeEntity): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (const { id } of entity.items('import')) {
    const { rows, columns, defect, errors_by_type: byType } = await client.viewImport({ params: { import_id: id } });
    const { attribute_errors: errors } = await client.listImportErrors({ query: { import_id: id } });
    const ofRows = errors.filter(({ line }) => line > 0).length;
    const typed = Object.values(byType).reduce((sum, each) => sum + each, 0);
    const empty = columns?.empty_cells ?? 0;
    if (rows.failed + rows.ignored - empty !== ofRows || typed !== ofRows) {
      broken.push({
        what: 'errors of an import: counts and list differ',
        details:
          `${id}: ${rows.failed} failed, ${rows.ignored} ignored, ${empty} of these empty cells, ` +
          `${typed} by type, ${ofRows} listed, defect ${defect}`,
      });
    }
  }
  return broken;
}

/** The number of rows of a CSV file, once it is built. */
async function rowsOf(answer: string | { callback: string }): Promise<number> {
  const url = new URL((answer as { callback: string }).callback);
  const until = Date.now() + FILE_WITHIN_MS;
  for (;;) {
    const reply = await fetch(url);
    const text = await reply.text();
    if (reply.status === 200) return (parse(text, { columns: true }) as unknown[]).length;
    if (reply.status !== 202 || Date.now() > until)
      throw new Error(`a file was not built: ${reply.status} ${text.slice(0, 300)}`);
    await delay(200);
  }
}
