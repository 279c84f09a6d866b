/** The routes of what became of a campaign: its results, and its tests. */

import * as api from '../../api/campaigns/campaign-results.ts';
import { listCampaignTests } from '../../api/sends/campaign-tests.ts';
import { codesByGroup, MAX_RESULT_DAYS, resultsOf } from '../../domain/campaigns/campaign-results.ts';
import type { CampaignVariant } from '../../domain/campaigns/variants.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES } from '../../domain/sends/attempt.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { listResults, type ResultRow } from '../../store/campaigns/campaign-results.ts';
import { listTests, type ListedTest } from '../../store/campaigns/campaign-tests.ts';
import { type Campaign, findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import { creatorOf } from '../../store/core/camel-row.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { findRollup } from '../../store/sends/report-rollups.ts';
import { type Decision, listDecisions } from '../../store/sends/reports.ts';
import { audit } from '../http/audit.ts';
import { cursorPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';

const results = route(api.viewCampaignResults, async ({ params, query, caller: { entityId } }, { db }) => {
  const campaign = await requireCampaign(db, entityId, params.identifier);
  const period = periodOf(query, new Date());
  const variant = query.variant === undefined ? null : findVariant(campaign, query.variant);
  // Read before the counts, which are then at least as new.
  const rollup = await findRollup(db, entityId);
  const rows = await listResults(db, entityId, campaign.id, { ...period, variant });
  const whole = rows.filter(({ details }) => details !== null);
  return {
    campaign_id: campaign.identifier,
    as_of: isoOf(rollup?.countedUntil ?? null),
    ...period,
    total: resultsOf(whole),
    codes: codesByGroup(whole.map((row) => ({ ...row, details: row.details === '' ? null : row.details }))),
    days: Array.from(
      Map.groupBy(
        rows.filter(({ day }) => day !== null),
        ({ day }) => day!,
      ),
      ([day, own]) => ({ day, ...resultsOf(own) }),
    ),
    variants: showVariants(
      campaign,
      rows.filter((row) => row.variant !== null && row.variant !== ''),
      variant,
    ),
  };
});

async function requireCampaign(db: Queryable, entityId: number, key: string): Promise<Campaign> {
  return (await findCampaignByKey(db, entityId, key)) ?? refuse(404, 'not_found', 'Campaign not found');
}

const FIRST_DAY_MS = Date.parse('0001-01-01');
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

function periodOf({ from, till }: { from?: string | undefined; till?: string | undefined }, now: Date) {
  const last = till ?? dayOf(now.getTime());
  const earliest = dayOf(Math.max(Date.parse(last) - (MAX_RESULT_DAYS - 1) * DAY_MS, FIRST_DAY_MS));
  const first = from ?? earliest;
  if (first > last) refuseField('from', `must not be after till, ${last}`);
  if (first < earliest)
    refuseField('from', `must be at most ${MAX_RESULT_DAYS} days before till: ${earliest} or later`);
  return { from: first, till: last };
}

function findVariant({ variants }: Campaign, asked: string): string {
  const found = variants?.find(({ identifier, name }) => identifier === asked || name === asked);
  if (found) return found.identifier;
  return refuseField(
    'variant',
    variants
      ? `must be one of ${variants.map(({ name }) => name).join(', ')}`
      : 'must be left out: there are no variants',
  );
}

/** Shows the variants of the campaign, and others that messages had. */
function showVariants({ variants }: Campaign, rows: readonly ResultRow[], only: string | null) {
  const byVariant = Map.groupBy(rows, ({ variant }) => variant!);
  const own = (variants ?? []).filter(({ identifier }) => only === null || identifier === only);
  const gone = [...byVariant.keys()]
    .filter((identifier) => !own.some((variant) => variant.identifier === identifier))
    .map((identifier) => ({ identifier, name: null, share: null }));
  return [...own, ...gone].map(({ identifier, name, share }: Named) => ({
    identifier,
    name,
    share,
    ...resultsOf(byVariant.get(identifier) ?? []),
  }));
}

type Named = Pick<CampaignVariant, 'identifier'> & { name: string | null; share: number | null };

const MAX_RESULTS = 100;

const tests = route(listCampaignTests, async ({ params, query, ...who }, { db, settings }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { identifier } = await requireCampaign(tx, entityId, params.identifier);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'campaign',
      subject: identifier,
      details: { what: 'tests' },
    });
    const found = await listTests(tx, entityId, identifier, query.cursor ?? null, query.per_page + 1);
    const page = found.map((test) => ({ ...test, micros: 0 }));
    const { rows, next } = cursorPage(settings, `/api/campaigns/${identifier}/tests`, query, page);
    const shown = [];
    for (const listed of rows) shown.push(await showTest(tx, entityId, listed));
    return { tests: shown, next };
  });
});

async function showTest(tx: Queryable, entityId: number, test: ListedTest) {
  const decisions = await listDecisions(
    tx,
    entityId,
    { sendId: test.sendId },
    { limit: MAX_RESULTS, showsValues: false },
  );
  return {
    requestId: test.identifier,
    state: test.state,
    created_at: test.receivedAt.toISOString(),
    created_by: creatorOf(test),
    result_count: test.resultCount,
    results: decisions.map(showResult),
  };
}

function showResult({ userId, deviceId, variant, code, details, ...receipts }: Decision) {
  const { deliveredAt, openedAt, shownAt, clickedAt } = receipts;
  return {
    user: userId,
    device_id: deviceId,
    variant,
    code,
    reason: ATTEMPT_CODES[code],
    details,
    delivered_at: isoOf(deliveredAt),
    opened_at: isoOf(openedAt),
    shown_at: isoOf(shownAt),
    clicked_at: isoOf(clickedAt),
  };
}

export const campaignResultRoutes: Route[] = [results, tests];
