/** Values of filters and funnels' steps that mean a person: erases them, or lists those that stay, also in holds. */
import {
  type FilterValue,
  idTypeOfKey,
  isDistinctive,
  listFilterValues,
  removeFilterValues,
  type StoredFilters,
} from '../../domain/analytics/filter-values.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Queryable, type Tx, write } from '../core/database.ts';
import { listUnreadableMails } from '../gdpr/kept-values.ts';
import { namedIn, namesOf, peopleFinder } from '../gdpr/named-in.ts';
import { isVouchedFor } from '../gdpr/people-keys.ts';
import {
  type ColumnsOfItsTable,
  type ErasingLocation,
  type KnownBy,
  withColumns,
} from '../gdpr/personal-data-location.ts';
import { TextMatches } from '../gdpr/texts-of-people.ts';
import { lockSegments } from './segments.ts';
import { type Erasure, erasureOf, type Named } from '../../domain/analytics/erased-values.ts';
import type { FunnelStep } from '../../domain/analytics/funnel.ts';
import { eachFilter, type SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { cancelCampaignRun, updateCampaignStatus } from '../campaigns/campaign-runs.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { GdprRequest } from '../gdpr/request-record.ts';

type Filtered = FilterTable & {
  otherColumns: string;
  holds: string;
  erasedBy: string;
  keptFor: string;
  changed?: (tx: Tx, entityId: number, ids: readonly number[]) => Promise<void>;
};

/** Values in filters and steps of funnels. Erases those that mean a person (`meaningOf`), and reports the rest. */
export function filtersOfPeople<const D extends Filtered>(described: D & ColumnsOfItsTable<D>): ErasingLocation;
export function filtersOfPeople({ name, column, otherColumns, changed, ...described }: Filtered): ErasingLocation {
  const foundBy = 'a value that equals the id, if it [means the person](#values-of-filters)';
  return {
    ...withColumns({ ...described, name, columns: column, otherColumns, foundBy }),
    async count({ db }, entityId, people) {
      const isPersons = await meaningOf(db, entityId, people);
      let rows = 0;
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        rows += page.filter(({ stored }) => listFilterValues(stored).some(isPersons)).length;
      }
      return rows;
    },
    async *export({ db }, entityId, people) {
      const matches = new TextMatches();
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        for (const { identifier, stored } of page) {
          const texts = listFilterValues(stored)
            .filter(({ on }) => on !== 'devices')
            .map(({ text }) => text);
          const named = await listNaming(db, entityId, people, texts);
          if (named.size > 0) matches.add(identifier, named.size);
        }
      }
      yield* matches.records();
    },
    async erase({ db, tally }, entityId, people) {
      const isPersons = await meaningOf(db, entityId, people);
      let total = 0;
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        const ids = page.filter(({ stored }) => listFilterValues(stored).some(isPersons)).map(({ id }) => id);
        if (ids.length === 0) continue;
        total += await write(db, async (tx) => {
          // Keeps others from naming these segments meanwhile.
          await lockSegments(tx, entityId);
          const changes = await removeValues(tx, { name, column }, entityId, ids, isPersons);
          await changed?.(tx, entityId, changes);
          if (changes.length > 0) await failWidened(tx, entityId);
          await tally?.(tx, changes.length);
          return changes.length;
        });
      }
      return total;
    },
  };
}

async function removeValues(
  tx: Tx,
  { name, column }: FilterTable,
  entityId: number,
  ids: readonly number[],
  isPersons: (value: FilterValue) => boolean,
): Promise<number[]> {
  const rows = readRows<StoredRow>(
    await tx.query(
      `SELECT id, identifier, ${column} AS stored FROM ${name} WHERE entity_id = $1 AND id = ANY ($2)
     ORDER BY id FOR NO KEY UPDATE`,
      [entityId, ids],
    ),
  );
  const changed = rows.filter(({ stored }) => stored !== null && listFilterValues(stored).some(isPersons));
  for (const { id, stored } of changed) {
    await tx.query(`UPDATE ${name} SET ${column} = $3 WHERE entity_id = $1 AND id = $2`, [
      entityId,
      id,
      JSON.stringify(removeFilterValues(stored, isPersons)),
    ]);
  }
  return changed.map(({ id }) => id);
}

type FilterTable = { name: string; column: 'filters' | 'steps' };

type StoredRow = { id: number; identifier: string; stored: StoredFilters };

const PAGE = 100;

async function* listFilterPages(
  db: Queryable,
  { name, column }: FilterTable,
  entityId: number,
): AsyncGenerator<StoredRow[]> {
  for (let after: number | null = 0; after !== null;) {
    const page: StoredRow[] = readRows<StoredRow>(
      await db.query(
        `SELECT id, identifier, ${column} AS stored FROM ${name} WHERE entity_id = $1 AND id > $2 AND ${column} IS NOT NULL
       ORDER BY id LIMIT ${PAGE}`,
        [entityId, after],
      ),
    );
    yield page;
    after = page.length === PAGE ? page.at(-1)!.id : null;
  }
}

/**
 * Returns a rule for values that mean one of the people: under a key that holds ids by its name, ids of that type;
 * under others, confirmed ids that are distinctive, or if staff marked the attribute as an identifier. So `FR` as a
 * country stays when the user FR is erased.
 */
async function meaningOf(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<(value: FilterValue) => boolean> {
  const ids = idsWithTypes(people);
  const vouched = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  const identifiers = await listIdentifierAttributes(db, entityId);
  return ({ on, sor, key, text }) => {
    const type = idTypeOfKey(key);
    if (on === 'devices') return false;
    if (type !== undefined) return ids.has(`${type} ${text}`);
    return vouched.has(text) && (isDistinctive(text) || (on === 'attributes' && identifiers.has(`${sor} ${key}`)));
  };
}

function idsWithTypes(people: readonly KnownBy[]): Set<string> {
  return new Set(people.map(({ customerType, customerId }) => `${customerType} ${customerId}`));
}

/** Returns the texts that name one of the people. Nearly all filters name none, and cost no query. */
async function listNaming(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
  texts: readonly string[],
): Promise<Set<string>> {
  const find = peopleFinder(people);
  const candidates = new Set(texts.flatMap((text) => find(text)));
  if (candidates.size === 0) return new Set();
  const { rows } = await db.query<{ text: string }>(
    `SELECT text FROM unnest($4::text[]) AS given (text) WHERE $1::integer IS NOT NULL AND ${namedIn('text')}`,
    [...namesOf(entityId, [...candidates]), texts],
  );
  return new Set(rows.map(({ text }) => text));
}

/** Returns the attributes whose values are ids of people, each as its SoR's identifier, a space and its key. */
async function listIdentifierAttributes(db: Queryable, entityId: number): Promise<Set<string>> {
  const { rows } = await db.query<{ named: string }>(
    `SELECT s.identifier || ' ' || a.key AS named FROM customer_attributes a
     JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.id = a.sor_id
     WHERE a.entity_id = $1 AND a.is_identifier AND a.deleted_at IS NULL`,
    [entityId],
  );
  return new Set(rows.map(({ named }) => named));
}

type StoredSegment = Row<'segments', 'id' | 'identifier' | 'name' | 'failure', { filters: SegmentFilters }>;
type StoredFunnel = Row<'funnels', 'identifier' | 'name', { steps: FunnelStep[] }>;

/** Returns why filters find no person: an erasure widened them, or a segment or funnel that they name; else null. */
export async function findErasureFailure(
  db: Queryable,
  entityId: number,
  filters: SegmentFilters,
): Promise<string | null> {
  const own = identifiersIn(filters);
  const segments = own.segments.length === 0 ? [] : await listReached(db, entityId, own.segments);
  const funnels = [...own.funnels, ...segments.flatMap((segment) => identifiersIn(segment.filters).funnels)];
  return failureOf(erasureOf(filters, namedBy(segments, await listErasedFunnels(db, entityId, funnels))));
}

function failureOf(erasure: Erasure | null): string | null {
  return erasure?.is === 'widened' ? erasure.failure : null;
}

function identifiersIn(filters: SegmentFilters): { segments: string[]; funnels: string[] } {
  const all = Array.from(eachFilter(filters), ({ filter }) => filter);
  return {
    segments: all.flatMap((filter) => (filter.filter_on === 'segments' ? filter.segment_identifiers : [])),
    funnels: all.flatMap((filter) => (filter.filter_on === 'funnels' ? [filter.funnel_identifier] : [])),
  };
}

/** Looks at each segment once. No segment names itself through others. */
function namedBy(segments: readonly StoredSegment[], funnels: readonly StoredFunnel[]): Named {
  const stored = new Map(segments.map((segment) => [segment.identifier, segment]));
  const steps = new Map(funnels.map((funnel) => [funnel.identifier, funnel]));
  const known = new Map<string, Erasure | null>();
  const named: Named = {
    segment(identifier) {
      const segment = stored.get(identifier);
      if (!segment) return null;
      if (!known.has(identifier)) known.set(identifier, erasureOf(segment.filters, named));
      return { name: segment.name, erasure: known.get(identifier)! };
    },
    funnel: (identifier) => steps.get(identifier) ?? null,
  };
  return named;
}

const SEGMENT = 's.id, s.identifier, s.name, s.filters, s.failure';

/** Lists these segments, and those that they name through others, without static ones. */
export async function listReached(
  db: Queryable,
  entityId: number,
  identifiers: readonly string[],
): Promise<StoredSegment[]> {
  return readRows<StoredSegment>(
    await db.query(
      `WITH RECURSIVE reached AS (
       SELECT id FROM segments WHERE entity_id = $1 AND identifier = ANY ($2)
       UNION SELECT u.used_segment_id FROM reached r JOIN segment_uses u ON u.entity_id = $1 AND u.segment_id = r.id)
     SELECT ${SEGMENT} FROM reached JOIN segments s ON s.entity_id = $1 AND s.id = reached.id WHERE s.filters IS NOT NULL`,
      [entityId, identifiers],
    ),
  );
}

/** Returns SQL for whether JSON from Millrace may have this member. A quote within a text has a backslash before it. */
const hasMember = (column: string, member: string): string => `strpos(${column}::text, '"${member}":') > 0`;

async function listErasedFunnels(
  db: Queryable,
  entityId: number,
  identifiers: readonly string[] | null,
): Promise<StoredFunnel[]> {
  if (identifiers?.length === 0) return [];
  return readRows<StoredFunnel>(
    await db.query(
      `SELECT identifier, name, steps FROM funnels
     WHERE entity_id = $1 AND ($2::text[] IS NULL OR identifier = ANY ($2)) AND ${hasMember('steps', 'values_erased')}`,
      [entityId, identifiers],
    ),
  );
}

const CHANGED_BY = ['values_erased', 'segment_identifiers', 'funnel_identifier'];

/**
 * Fails segments, and open launched campaigns, whose filters would find more people, and cancels their unsent messages.
 * A draft gets the reason why it can't be launched. The caller has locked the entity's segments.
 */
async function failWidened(tx: Tx, entityId: number): Promise<void> {
  const segments = readRows<StoredSegment>(
    await tx.query(`SELECT ${SEGMENT} FROM segments s WHERE s.entity_id = $1 AND s.filters IS NOT NULL ORDER BY s.id`, [
      entityId,
    ]),
  );
  const named = namedBy(segments, await listErasedFunnels(tx, entityId, null));
  for (const { id, identifier, failure: before } of segments) {
    const failure = failureOf(named.segment(identifier)!.erasure);
    if (failure === null || failure === before) continue;
    await tx.query(
      'UPDATE segments SET failure = $3, generation = generation + 1, refresh_begun_at = NULL WHERE entity_id = $1 AND id = $2',
      [entityId, id, failure],
    );
  }
  for (let after: number | null = 0; after !== null;) {
    const campaigns: OpenCampaign[] = await listOpenCampaigns(tx, entityId, after);
    for (const campaign of campaigns) {
      const failure = failureOf(erasureOf(campaign.filters, named));
      if (failure !== null) await failCampaign(tx, entityId, campaign, failure);
    }
    after = campaigns.length === PAGE ? campaigns.at(-1)!.id : null;
  }
}

type OpenCampaign = Row<'campaigns', 'id', { filters: SegmentFilters }> & { status: string };

/** Lists open campaigns, without copies for tests: these go to the people that a test names. */
async function listOpenCampaigns(tx: Tx, entityId: number, after: number): Promise<OpenCampaign[]> {
  return readRows<OpenCampaign>(
    await tx.query(
      `SELECT id, status, filters FROM campaigns
     WHERE entity_id = $1 AND id > $2 AND status IN ('draft', 'scheduled', 'wait_sync', 'ongoing') AND test_of IS NULL
       AND (${CHANGED_BY.map((member) => hasMember('filters', member)).join(' OR ')})
     ORDER BY id LIMIT ${PAGE} FOR NO KEY UPDATE`,
      [entityId, after],
    ),
  );
}

async function failCampaign(tx: Tx, entityId: number, { id, status }: OpenCampaign, failure: string): Promise<void> {
  if (status === 'draft') {
    await tx.query('UPDATE campaigns SET failure = $3, updated_at = now() WHERE entity_id = $1 AND id = $2', [
      entityId,
      id,
      failure,
    ]);
    return;
  }
  await updateCampaignStatus(tx, entityId, id, 'failed', failure);
  await cancelCampaignRun(tx, entityId, id);
}

/** Adds to the request what the erasure leaves in filters, holds and unreadable mails. `tx` holds the request. */
export async function recordKeptValues(
  tx: Tx,
  { entityId, id, keptValues: before }: GdprRequest,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  // Mails are not searched for ids that are not vouched for.
  const unreadable = people.some(isVouchedFor) ? await listUnreadableMails(tx) : [];
  const holds = await listHoldsNaming(tx, entityId, people);
  const kept = [...(await listKeptValues(tx, entityId, people)), ...holds, ...unreadable];
  const all = new Map(
    [...before, ...kept].map((value) => [JSON.stringify([value.place, value.object, value.on, value.key]), value]),
  );
  if (kept.length > 0) {
    await tx.query('UPDATE gdpr_requests SET kept_values = $3 WHERE entity_id = $1 AND id = $2', [
      entityId,
      id,
      JSON.stringify([...all.values()]),
    ]);
  }
  return kept;
}

const TABLES = [
  { name: 'segments', column: 'filters' },
  { name: 'campaigns', column: 'filters' },
  { name: 'funnels', column: 'steps' },
] as const;

const MAX_KEPT_VALUES = 200;

/** Lists the objects that hold such values, and under which key; a key that holds an id is null. */
export async function listKeptValues(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  const kept: KeptValue[] = [];
  const findKept = await keptOf(db, entityId, people);
  const ids = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  for (const table of TABLES) {
    for await (const page of listFilterPages(db, table, entityId)) {
      for (const { identifier: object, stored } of page) {
        const values = await findKept(listFilterValues(stored));
        for (const [named, same] of Map.groupBy(values, ({ on, key }) => `${on} ${key}`)) {
          if (kept.length === MAX_KEPT_VALUES) return kept;
          const { on, key } = same[0]!;
          const isNaming = ids.has(key) || (await listNaming(db, entityId, people, [named])).size > 0;
          kept.push({ place: table.name, object, on, key: isNaming ? null : key, values: same.length });
        }
      }
    }
  }
  return kept;
}

/** Returns a function that finds values that equal a vouched id, or hold a distinctive one among other words. */
async function keptOf(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<(values: readonly FilterValue[]) => Promise<FilterValue[]>> {
  const isErased = await meaningOf(db, entityId, people);
  const ids = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  const distinctive = people.filter(({ customerId }) => isDistinctive(customerId));
  return async (values) => {
    const named = await listNaming(
      db,
      entityId,
      distinctive,
      values.map(({ text }) => text),
    );
    return values.filter((value) => !isErased(value) && (ids.has(value.text) || named.has(value.text)));
  };
}

const MAX_HOLDS = 200;

/** Lists holds on others whose reason names one of these people: a deletion leaves these. */
async function listHoldsNaming(db: Queryable, entityId: number, people: readonly KnownBy[]): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'gdpr_holds', 'identifier'>>(
    `SELECT identifier FROM gdpr_holds WHERE entity_id = $1 AND ${namedIn('reason')} ORDER BY id LIMIT ${MAX_HOLDS}`,
    namesOf(entityId, people),
  );
  return rows.map(({ identifier: object }) => ({ place: 'gdpr_holds', object, on: 'reason', key: null, values: 1 }));
}
