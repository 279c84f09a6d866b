/** Reads HubSpot: all records of a kind, those that have changed since the last reading, or contacts' companies. */
import { z } from 'zod';
import { MINUTE_MS } from '../../domain/time/durations.ts';
import { batched, type Batcher } from '../core/batcher.ts';
import type { Batch, ConnectorContext, Cursor, Reading, ReadItem } from '../core/contract.ts';
import { TooLargeAnswer } from '../core/json-requests.ts';
import { sayStuckCursor } from '../core/odd-cursors.ts';
import { pagesAhead, stuckPage } from '../core/pages-ahead.ts';
import { Hubspot, VERSION } from './hubspot-api.ts';
import { checkWhole, Fault } from './hubspot-faults.ts';
import {
  changedAt,
  CONTACT_COMPANIES,
  fieldsOf,
  HubspotRecord,
  ID,
  type Kind,
  kindOf,
  MERGED,
  objectsPath,
  propertiesOf,
  type Property,
  recordReader,
} from './hubspot-objects.ts';
import type { HubspotSettings } from './hubspot-settings.ts';

/** Maximum numbers of records in an answer (developers.hubspot.com: object APIs, search). */
const LISTED = 100;
const SEARCHED = 200;
/** Maximum length of properties' names in an address: users saw 414 above 8,000 characters. */
const MAX_QUERY = 7_000;

const Page = z.object({
  results: z.array(HubspotRecord),
  paging: z.object({ next: z.object({ after: z.string() }).nullish() }).nullish(),
  total: z.number().nullish(),
  errors: z.array(Fault).nullish(),
});
type Page = { records: HubspotRecord[]; after: string | null; total?: number };

export function readHubspot(
  settings: HubspotSettings,
  reading: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  const hubspot = new Hubspot(settings, context);
  return batched(reading.cursor, (own) =>
    reading.stream === CONTACT_COMPANIES
      ? readAssociations(hubspot, own, reading.cursor)
      : readObjects(hubspot, own, reading, context),
  );
}

async function* readObjects(
  hubspot: Hubspot,
  own: Batcher,
  { stream, mode, cursor, isContinued, fields }: Reading,
  { log }: ConnectorContext,
): AsyncGenerator<Batch> {
  // The window was read to its end; another one would bring some of it again, which the run would count twice.
  if (mode === 'incremental' && isContinued && cursor !== null && ChangePosition.parse(cursor).to === null) return;
  const kind = await kindOf(hubspot, stream);
  const properties = await propertiesOf(hubspot, kind);
  const asked = fields && new Set([...fields, ID]);
  const wanted = asked ? properties.filter(({ name }) => asked.has(name)) : properties;
  const some = { kind, properties: wanted };
  yield* mode === 'full'
    ? listAll(hubspot, own, some, cursor)
    : readChanges(hubspot, own, some, properties, { cursor, log });
}

type Some = { kind: Kind; properties: readonly Property[] };

/** The id after which a listing goes on; empty at its begin, null at its end. */
const ListPosition = z.object({ after: z.string().nullable() }).catch({ after: '' });

async function* listAll(
  hubspot: Hubspot,
  { addAll, passed, setFields }: Batcher,
  { kind, properties }: Some,
  cursor: Cursor | null,
): AsyncGenerator<Batch> {
  const toItem = itemReader(properties);
  yield* setFields(fieldsOf(properties));
  for await (const { records, after } of listed(hubspot, kind, properties, ListPosition.parse(cursor))) {
    yield* addAll(records.map(toItem));
    passed({ after });
  }
}

/**
 * A window of changes: from and to are ms; `archived` is the id after which the archived list goes on, null behind its
 * end; `last` is the last id that was read.
 */
const ChangePosition = z
  .object({ from: z.number(), to: z.number().nullable(), last: z.string(), archived: z.string().nullable() })
  .catch({ from: 0, to: null, last: '0', archived: null });
type ChangePosition = z.output<typeof ChangePosition>;

/** Unit of the server's clock: a window has the second in which it began, and so has the next one. */
const CLOCK_MS = 1_000;

/**
 * Reads the records that have changed within a window of time, in the order of their ids and each page from the last
 * id: so search's limit of 10,000 records is never met, however many have the same time. The window after it begins
 * before its end, since search finds changes late; what changes meanwhile leaves this window and is in the next.
 * Deletions come before the records that may have their customers now: those of a merge, or made anew.
 */
async function* readChanges(
  hubspot: Hubspot,
  { addAll, passed, setFields }: Batcher,
  { kind, properties }: Some,
  known: readonly Property[],
  { cursor, log }: Pick<Reading, 'cursor'> & Pick<ConnectorContext, 'log'>,
): AsyncGenerator<Batch> {
  const { archived: isArchiveRead, lookback_minutes: minutes } = hubspot.settings;
  const toItem = itemReader(properties);
  const names = properties.map(({ name }) => name);
  if (!names.includes(MERGED) && known.some(({ name }) => name === MERGED)) names.push(MERGED);
  const position = ChangePosition.parse(cursor);
  const window = { from: position.from, to: position.to ?? hubspot.clockMs + CLOCK_MS };
  if (window.from > window.to) {
    log(sayStuckCursor(changedAt(kind)));
    window.from = 0; // a clock was ahead once: nothing would come until it is reached
  }
  yield* setFields(fieldsOf(properties));
  const archived = position.to === null && isArchiveRead ? '' : position.archived;
  passed({ ...window, last: position.last, archived });
  if (archived !== null) {
    for await (const { records, after } of listed(hubspot, kind, properties, { after: archived }, true)) {
      const newer = records.filter(({ archivedAt }) => !(Date.parse(archivedAt ?? '') < window.from));
      yield* addAll(
        newer.map((record) => {
          const [{ record: customer }, bytes] = toItem(record);
          return [{ kind: 'deleted', key: record.id, customer }, bytes];
        }),
      );
      passed({ ...window, last: position.last, archived: after });
    }
  }
  let all: number | undefined;
  const found = searched(hubspot, kind, names, { ...window, last: position.last });
  for await (const { records, total = 0 } of found) {
    all ??= total;
    const done = all > 0 ? 1 - Math.max(0, total - records.length) / all : undefined;
    for (const record of records) {
      const ended = mergedInto(record).map((id) => [{ kind: 'deleted', key: id }, id.length] as const);
      yield* addAll([...ended, toItem(record)]);
      passed({ ...window, last: record.id, archived: null }, done);
    }
  }
  const from = Math.max(0, window.to - CLOCK_MS - minutes * MINUTE_MS);
  passed({ from, to: null, last: '0', archived: null } satisfies ChangePosition);
}

const mergedInto = ({ properties: { [MERGED]: ids } }: HubspotRecord): string[] =>
  (ids ?? '').split(';').filter((id) => id !== '');

/** Returns the item of a record with its size. */
function itemReader(properties: readonly Property[]) {
  const toRecord = recordReader(properties);
  return (found: HubspotRecord): [ReadItem & { kind: 'record' }, number] => {
    const record = toRecord(found);
    return [{ kind: 'record', record, key: found.id }, Buffer.byteLength(JSON.stringify(record))];
  };
}

/** Lists the records of a kind in the order of their ids. Never follows the link to a next page: it may be of v3. */
function listed(
  hubspot: Hubspot,
  kind: Kind,
  properties: readonly Property[],
  { after }: z.output<typeof ListPosition>,
  archived = false,
): AsyncGenerator<Page> {
  const names = properties.map(({ name }) => name);
  const isLong = encodeURIComponent(names.join(',')).length > MAX_QUERY;
  const list = async (from: string, limit: number, some: readonly string[]): Promise<Page> => {
    const query = {
      limit: `${limit}`,
      properties: some.join(','),
      archived: `${archived}`,
      ...(from && { after: from }),
    };
    const { results, paging } = await hubspot.read(Page, { path: objectsPath(kind), query });
    const after = paging?.next?.after ?? null;
    if (after === from) throw stuckPage(hubspot.host);
    return { records: results, after };
  };
  return pagesAhead(after, LISTED, async (from, limit) => {
    if (!isLong) return list(from, limit, names);
    const page = await list(from, limit, [ID]);
    return { ...page, records: await withValues(hubspot, kind, names, page.records, archived) };
  });
}

/** Reads the values of records, by a body that has room for all names; leaves out those that are gone meanwhile. */
async function withValues(
  hubspot: Hubspot,
  kind: Kind,
  properties: readonly string[],
  records: readonly HubspotRecord[],
  archived: boolean,
): Promise<HubspotRecord[]> {
  if (records.length === 0) return [];
  const call = {
    path: objectsPath(kind, '/batch/read'),
    query: { archived: `${archived}` },
    body: { inputs: records.map(({ id }) => ({ id })), properties },
  };
  const { results, errors } = await hubspot.read(Page, call);
  checkWhole(hubspot.host, errors);
  const found = new Map(results.map((record) => [record.id, record]));
  return records.flatMap(({ id }) => found.get(id) ?? []);
}

function searched(
  hubspot: Hubspot,
  kind: Kind,
  properties: readonly string[],
  { from, to, last }: { from: number; to: number; last: string },
): AsyncGenerator<Page> {
  return pagesAhead(last, SEARCHED, async (behind, limit) => {
    const time = changedAt(kind);
    const filters = [
      { propertyName: time, operator: 'GTE', value: `${from}` },
      { propertyName: time, operator: 'LT', value: `${to}` },
      { propertyName: ID, operator: 'GT', value: behind },
    ];
    const sorts = [{ propertyName: ID, direction: 'ASCENDING' }];
    const { results, paging, total } = await hubspot.read(Page, {
      path: objectsPath(kind, '/search'),
      body: { filterGroups: [{ filters }], sorts, properties, limit },
      isSearch: true,
    });
    const ids = [behind, ...results.map(({ id }) => id)];
    const isOnward = ids.every((id, n) => n === 0 || Number(id) > Number(ids[n - 1]));
    if (!isOnward || (paging?.next && results.length === 0)) throw stuckPage(hubspot.host);
    return { records: results, after: paging?.next ? ids.at(-1)! : null, total: total ?? 0 };
  });
}

const Associated = z.object({
  results: z.array(
    z.object({
      from: z.object({ id: z.string() }),
      to: z.array(
        z.object({
          toObjectId: z.union([z.string(), z.number()]),
          associationTypes: z.array(z.object({ label: z.string().nullish() })),
        }),
      ),
      paging: z.object({ next: z.object({ after: z.string() }).nullish() }).nullish(),
    }),
  ),
  errors: z.array(Fault).nullish(),
});

/** HubSpot's own label of a contact's first company. */
const PRIMARY = 'Primary';

/** Reads which companies contacts belong to: all of them each time, since nothing tells a change of an association. */
async function* readAssociations(
  hubspot: Hubspot,
  { addAll, passed }: Batcher,
  cursor: Cursor | null,
): AsyncGenerator<Batch> {
  const contacts = { name: 'contacts', path: 'contacts' };
  const ids = [{ name: ID, type: 'number' }];
  for await (const { records, after } of listed(hubspot, contacts, ids, ListPosition.parse(cursor))) {
    const found: [ReadItem, number][] = [];
    for await (const { from, to } of companiesOf(hubspot, records)) {
      for (const { toObjectId, associationTypes } of to) {
        const labels = associationTypes.flatMap(({ label }) => label ?? []);
        const record = {
          contact_id: Number(from.id),
          company_id: Number(toObjectId),
          is_primary: labels.includes(PRIMARY),
          labels: labels.filter((label) => label !== PRIMARY),
        };
        found.push([{ kind: 'record', record }, JSON.stringify(record).length]);
      }
    }
    yield* addAll(found);
    passed({ after });
  }
}

/** Yields the companies of contacts: as many pages of each as it has, and fewer contacts a call if they have many. */
async function* companiesOf(
  hubspot: Hubspot,
  contacts: readonly HubspotRecord[],
): AsyncGenerator<z.output<typeof Associated>['results'][number]> {
  const path = `/crm/associations/${VERSION}/contacts/companies/batch/read`;
  const left: { id: string; after?: string }[][] = [contacts.map(({ id }) => ({ id }))];
  for (let inputs = left.pop(); inputs !== undefined; inputs = left.pop()) {
    if (inputs.length === 0) continue;
    try {
      const { results, errors } = await hubspot.read(Associated, { path, body: { inputs } });
      checkWhole(hubspot.host, errors);
      yield* results;
      left.push(results.flatMap(({ from: { id }, paging }) => (paging?.next ? { id, after: paging.next.after } : [])));
    } catch (error) {
      if (!(error instanceof TooLargeAnswer) || inputs.length === 1) throw error;
      const half = Math.ceil(inputs.length / 2);
      left.push(inputs.slice(half), inputs.slice(0, half));
    }
  }
}
