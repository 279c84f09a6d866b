/**
 * Filters that would find more people after an erasure removed values: finds them, and fails their segments and
 * campaigns.
 */

import { type Erasure, erasureOf, type Named } from '../../domain/analytics/erased-values.ts';
import type { FunnelStep } from '../../domain/analytics/funnel.ts';
import { eachFilter, type SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { cancelCampaignRun, updateCampaignStatus } from '../campaigns/campaign-runs.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';

type StoredSegment = Row<'segments', 'id' | 'identifier' | 'name' | 'failure', { filters: SegmentFilters }>;
type StoredFunnel = Row<'funnels', 'identifier' | 'name', { steps: FunnelStep[] }>;

/**
 * Returns why filters find no person: an erasure widened them, or a segment or funnel that they name. Null if none did.
 */
export async function findErasureFailure(
  db: Queryable,
  entityId: number,
  filters: SegmentFilters,
): Promise<string | null> {
  const own = namesOf(filters);
  const segments = own.segments.length === 0 ? [] : await listReached(db, entityId, own.segments);
  const funnels = [...own.funnels, ...segments.flatMap((segment) => namesOf(segment.filters).funnels)];
  return failureOf(erasureOf(filters, namedBy(segments, await listErasedFunnels(db, entityId, funnels))));
}

function failureOf(erasure: Erasure | null): string | null {
  return erasure?.is === 'widened' ? erasure.failure : null;
}

function namesOf(filters: SegmentFilters): { segments: string[]; funnels: string[] } {
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

/** Lists funnels with a step that lost details by erasures; of these identifiers, or all. */
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

const PAGE = 100;
/** Only filters with one of these members can be changed by an erasure. */
const CHANGED_BY = ['values_erased', 'segment_identifiers', 'funnel_identifier'];

/**
 * Fails segments, and open launched campaigns, whose filters would find more people since a value was removed; cancels
 * what the campaigns have not sent. A draft gets the reason why it can't be launched. The caller has locked the
 * entity's segments.
 */
export async function failWidened(tx: Tx, entityId: number): Promise<void> {
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
