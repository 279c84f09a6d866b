/** The routes of campaigns: create, change, launch, cancel, list. */

import * as api from '../../api/campaigns/campaigns.ts';
import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { type CampaignBody, campaignErrors, datesOf } from '../../domain/campaigns/campaign-body.ts';
import { isDraft, mayChange, STATUS_NAMES } from '../../domain/campaigns/campaign-status.ts';
import { duplicateOf } from '../../domain/campaigns/duplicate.ts';
import { localMoment, zoneOf } from '../../domain/campaigns/local-time.ts';
import type { CampaignVariant, NewVariant } from '../../domain/campaigns/variants.ts';
import { refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { findErasureFailure } from '../../store/analytics/filters-of-people.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { lockSegments } from '../../store/analytics/segments.ts';
import { findApp, listAppIds } from '../../store/apps/apps.ts';
import {
  cancelCampaignRun,
  insertCampaignRun,
  listDeviceZones,
  updateCampaignStatus,
} from '../../store/campaigns/campaign-runs.ts';
import {
  type Campaign,
  type CampaignFilter,
  type CampaignMessages,
  type CampaignSettings,
  deleteCampaign,
  findCampaignByKey,
  insertCampaign,
  launchCampaign,
  listCampaignIds,
  MAX_CAMPAIGNS,
  namesOfProfile,
  streamCampaigns,
  updateCampaign,
} from '../../store/campaigns/campaigns.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { newIdentifier } from '../../store/core/identifiers.ts';
import { listOpenSends } from '../../store/sends/sends.ts';
import { attributesOfFilters } from '../analytics/attributes-of-filters.ts';
import { refuseUsed } from '../analytics/refuse-used.ts';
import { refuseComputing } from '../analytics/usage-filters.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { bare, noResult, streamedRows } from '../http/reply.ts';
import { lastChange, refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { requireRightOfField, requireRightOfType } from '../http/right-of-type.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { wakeSendSoon, startSoon } from '../jobs/start-soon.ts';
import { countPeople } from './campaign-audience.ts';
import { showCampaigns, showDetails } from './campaign-record.ts';
import { findProfileErrors } from './profile-errors.ts';

type Who = Circumstances & { caller: Caller };

const V3_LIMIT = 20;
/** Maximum number of sends signaled at once at a cancellation; others see it when they continue. */
const MAX_WOKEN = 100;

const listAll = route(api.listCampaigns, async ({ query, version, ...who }, { db, streamedLists }) => {
  const { entityId } = who.caller;
  const filter = await readCampaignFilter(db, entityId, query);
  const { order = 'created_at', offset, limit = version === 3 ? V3_LIMIT : null } = query;
  const ids = await listCampaignIds(db, entityId, filter, order);
  const campaigns = streamCampaigns(db, entityId, ids.slice(offset, limit === null ? undefined : offset + limit));
  const shown = streamedLists.shown(who, campaigns, (piece) => showCampaigns(db, entityId, piece));
  const start = `${JSON.stringify({ limit, offset }).slice(0, -1)},"result":[`;
  return bare(await streamedRows(start, shown, () => `],"success":true,"total_count":${ids.length}}`));
});

const view = route(api.viewCampaign, async ({ params, caller: { entityId } }, { db }) =>
  showDetails(db, entityId, (await findCampaignByKey(db, entityId, params.campaign_identifier)) ?? refuseUnknown()),
);

const create = route(api.createCampaign, async ({ body, keepReply, ...who }, { db }) => {
  requireRightOfType(api.createCampaign, who.caller, body.type);
  requireRightOfVariants(api.createCampaign, who, body);
  return write(db, async (tx) =>
    keepReply(tx, await createDraft(tx, who, await readSettings(tx, who.caller.entityId, body, null))),
  );
});

const duplicate = route(api.duplicateCampaign, async ({ params, body, keepReply, ...who }, { db }) =>
  write(db, async (tx) => {
    const campaign = (await findCampaignByKey(tx, who.caller.entityId, params.campaign_identifier)) ?? refuseUnknown();
    requireRightOfType(api.duplicateCampaign, who.caller, campaign.type);
    requireRightOfVariants(api.duplicateCampaign, who, campaign);
    const duplicate = duplicateOf(campaign, new Date());
    const settings: CampaignSettings = {
      ...campaign,
      ...duplicate,
      name: body.name ?? duplicate.name,
      variants:
        campaign.variants &&
        identifyVariants(
          campaign.variants.map(({ identifier: _, ...variant }) => variant),
          null,
        ),
    };
    return keepReply(tx, await createDraft(tx, who, settings));
  }),
);

const replace = route(api.updateCampaign, async ({ params, body: { revision, ...body }, ...who }, { db }) =>
  write(db, async (tx) => {
    const { entityId } = who.caller;
    const draft = await lockDraft(tx, who, params.campaign_identifier, api.updateCampaign);
    await refuseOlderRevision(tx, entityId, 'campaign', draft, revision);
    const { id, type, identifier, variants } = draft;
    if (body.type !== type) refuseField('type', `stays ${type}: create another campaign`);
    requireRightOfVariants(api.updateCampaign, who, body);
    const settings = await readSettings(tx, entityId, body, variants);
    await updateCampaign(tx, entityId, id, settings, await failureOf(tx, entityId, settings));
    return changed(tx, who, identifier, {
      changed: 'body',
      ...(await attributesOf(tx, who, settings)),
    });
  }),
);

const remove = route(api.deleteCampaign, async ({ params, ...who }, { db }) =>
  write(db, async (tx) => {
    const { id, identifier, apiIdentifier, name } = await lockDraft(
      tx,
      who,
      params.campaign_identifier,
      api.deleteCampaign,
    );
    await lockSegments(tx, who.caller.entityId);
    await refuseUsed(tx, who.caller.entityId, [identifier, ...(apiIdentifier === null ? [] : [apiIdentifier])]);
    await deleteCampaign(tx, who.caller.entityId, id);
    await audit(tx, who, { action: 'delete', subjectKind: 'campaign', subject: identifier, details: { name } });
    return noResult();
  }),
);

const launch = route(api.launchCampaign, async ({ params, body, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  const { revision, expected_people: expectedPeople = null } = body;
  const confirmed =
    expectedPeople === null ? revision : await confirmPeople(deps, who, params.campaign_identifier, expectedPeople);
  const { run, launched } = await write(deps.db, async (tx) => {
    const campaign = await lockOwn(tx, who, params.campaign_identifier, api.launchCampaign);
    refuseLaunch(campaign);
    for (const seen of [revision, confirmed]) await refuseOlderRevision(tx, entityId, 'campaign', campaign, seen);
    const failure = await failureOf(tx, entityId, campaign);
    if (failure !== null) refuse(409, 'conflict', failure);
    const [unknown] = await findProfileErrors(tx, entityId, campaign);
    if (unknown) refuse(409, 'conflict', `${unknown.element} ${unknown.message}`);
    const attributes = await attributesOf(tx, who, campaign);
    await launchCampaign(tx, entityId, campaign.id, { userId, expectedPeople });
    const started = campaign.type === 'transactional' ? null : await startRun(tx, entityId, campaign);
    const details = { launched: true, ...(expectedPeople !== null && { expected: expectedPeople }), ...attributes };
    return { run: started, launched: await changed(tx, who, campaign.identifier, details) };
  });
  if (run) await startSoon(deps, who.log, 'campaign', run);
  return launched;
});

/**
 * Refuses a launch if more people would get the campaign than the caller confirmed. Returns the revision that was
 * counted. Counts before the transaction that launches, which may not last as long.
 */
async function confirmPeople(deps: RouteDependencies, who: Who, key: string, expected: number): Promise<number> {
  const campaign = (await findCampaignByKey(deps.db, who.caller.entityId, key)) ?? refuseUnknown();
  requireRightOfType(api.launchCampaign, who.caller, campaign.type);
  refuseLaunch(campaign);
  if (campaign.type === 'transactional')
    refuseField('expected_people', 'must be left out: a transactional campaign has no audience');
  const counted = await countPeople(deps, who, campaign);
  if (!('audience' in counted)) return refuseComputing(counted.computing);
  const { recipients } = counted.audience;
  if (recipients <= expected) return campaign.revision;
  return refuse(
    409,
    'conflict',
    `The campaign would go to ${recipients} people now, and you confirmed ${expected}: look at its audience, then launch it ` +
      'with the new number',
    { expected_people: expected, recipients },
  );
}

function refuseLaunch({ status, type, includesInapp, endDate }: Campaign): void {
  if (!mayChange(status, 'launch')) {
    refuse(409, 'conflict', `Only a draft can be launched, and this campaign is ${STATUS_NAMES[status].toLowerCase()}`);
  }
  if ((includesInapp || type === 'dynamic') && endDate !== null && endDate.getTime() <= Date.now()) {
    refuse(409, 'conflict', 'The end_date has passed: set a later one by PUT /api/campaign/<campaign_identifier>');
  }
}

/** Returns why filters may find no person. */
async function failureOf(
  tx: Tx,
  entityId: number,
  { filters }: Pick<CampaignSettings, 'filters'>,
): Promise<string | null> {
  return filters && findErasureFailure(tx, entityId, filters);
}

/** Starts the run; a classic campaign begins in the first of its zones. */
async function startRun(
  tx: Tx,
  entityId: number,
  { id, identifier, type, createdBy, appId, adaptTz, appTimezone }: Campaign,
) {
  const { startDate, launchedAt } = (await findCampaignByKey(tx, entityId, identifier))!;
  const zones = type === 'classic' && adaptTz ? await listDeviceZones(tx, entityId, appId) : [];
  const moments = zones.map(({ timezone, utcOffset: utcOffsetMinutes }) =>
    localMoment(startDate!, appTimezone, zoneOf({ timezone, utcOffsetMinutes }, appTimezone), launchedAt!).getTime(),
  );
  const startsAt = moments.length > 0 ? Math.min(...moments) : Math.max(startDate!.getTime(), launchedAt!.getTime());
  return insertCampaignRun(tx, entityId, { id, identifier, createdBy }, new Date(startsAt));
}

const cancel = route(api.cancelCampaign, async ({ params, ...who }, deps) => {
  const { entityId } = who.caller;
  const { canceled, sends } = await write(deps.db, async (tx) => {
    const { id, identifier, status } = await lockOwn(tx, who, params.campaign_identifier, api.cancelCampaign);
    if (isDraft(status)) refuse(409, 'conflict', 'A draft cannot be canceled: delete it');
    if (!mayChange(status, 'cancel'))
      refuse(409, 'conflict', `The campaign is ${STATUS_NAMES[status].toLowerCase()} already`);
    await updateCampaignStatus(tx, entityId, id, 'canceled');
    await cancelCampaignRun(tx, entityId, id);
    return {
      canceled: await changed(tx, who, identifier, { canceled: true }),
      sends: await listOpenSends(tx, entityId, id, MAX_WOKEN),
    };
  });
  await Promise.all(sends.map((send) => wakeSendSoon(deps, who.log, send, 'a canceled send')));
  return canceled;
});

async function lockOwn(
  tx: Tx,
  { caller }: Who,
  key: string,
  operation: Parameters<typeof requireRightOfType>[0],
): Promise<Campaign> {
  const campaign = (await findCampaignByKey(tx, caller.entityId, key, { isLocked: true })) ?? refuseUnknown();
  requireRightOfType(operation, caller, campaign.type);
  return campaign;
}

async function lockDraft(
  tx: Tx,
  who: Who,
  key: string,
  operation: Parameters<typeof requireRightOfType>[0],
): Promise<Campaign> {
  const campaign = await lockOwn(tx, who, key, operation);
  if (isDraft(campaign.status)) return campaign;
  return refuse(
    409,
    'conflict',
    `Only drafts change, and this campaign is ${STATUS_NAMES[campaign.status].toLowerCase()}`,
    await lastChange(tx, who.caller.entityId, 'campaign', campaign.identifier),
  );
}

async function changed(
  tx: Tx,
  who: Who,
  identifier: string,
  details: Record<string, string | boolean | number>,
): Promise<api.CampaignDetails> {
  await audit(tx, who, { action: 'update', subjectKind: 'campaign', subject: identifier, details });
  return showDetails(tx, who.caller.entityId, (await findCampaignByKey(tx, who.caller.entityId, identifier))!);
}

/** Returns the attributes of the audience and of the texts, for the audit log. */
async function attributesOf(tx: Tx, { caller }: Who, settings: CampaignMessages & Pick<CampaignSettings, 'filters'>) {
  return attributesOfFilters(tx, caller, settings.filters, namesOfProfile(settings));
}

function requireRightOfVariants(
  operation: Parameters<typeof requireRightOfField>[0],
  { caller }: Who,
  { variants }: { variants?: readonly NewVariant[] | null },
): void {
  if (variants) requireRightOfField(operation, caller, 'variants');
}

async function createDraft(tx: Tx, who: Who, settings: CampaignSettings) {
  const { entityId, userId } = who.caller;
  const { identifier, apiIdentifier } =
    (await insertCampaign(tx, entityId, settings, userId)) ??
    refuse(409, 'too_many', `The entity has ${MAX_CAMPAIGNS} campaigns, the most that it may have`);
  const { name, type } = settings;
  const details = { name, type, ...(await attributesOf(tx, who, settings)) };
  await audit(tx, who, { action: 'create', subjectKind: 'campaign', subject: identifier, details });
  return { campaign_id: identifier, ...(apiIdentifier === null ? {} : { campaign_api_identifier: apiIdentifier }) };
}

async function readSettings(
  tx: Tx,
  entityId: number,
  body: CampaignBody,
  before: readonly CampaignVariant[] | null,
): Promise<CampaignSettings> {
  // Segments in the filters stay until the transaction ends.
  await lockSegments(tx, entityId);
  const app = await findApp(tx, entityId, body.app_id);
  const [now, filters] = [new Date(), audienceOf(body)];
  refuseFields([
    ...(app ? [] : [{ element: 'app_id', message: 'is no app of your entity: GET /api/apps lists them' }]),
    ...campaignErrors(body, now),
    ...(await findProfileErrors(tx, entityId, body)),
    ...(app && filters ? (await resolveFilters(tx, entityId, { appId: app.id, filters, now })).errors : []),
  ]);
  const isDynamic = body.type === 'dynamic';
  return {
    appId: app!.id,
    name: body.name,
    type: body.type,
    includesPush: body.includes_push,
    includesInapp: body.includes_inapp,
    ...datesOf(body),
    adaptTz: body.adapt_tz,
    skipMessageLimit: body.skip_message_limit,
    isSensitive: body.sensitive,
    filters,
    params: body.params,
    variants: body.variants ? identifyVariants(body.variants, before) : null,
    recurrence: isDynamic ? body.recurrence! : null,
    notifLimit: isDynamic ? body.notif_limit! : null,
  };
}

/** Returns the filters. Null means all people, or the users that each message names. */
function audienceOf({ type, filters }: CampaignBody): SegmentFilters | null {
  return type === 'transactional' || !filters || filters.blocks.length === 0 ? null : filters;
}

/** Keeps variants' identifiers by name. */
function identifyVariants(
  variants: readonly NewVariant[],
  before: readonly CampaignVariant[] | null,
): CampaignVariant[] {
  return variants.map((variant) => ({
    identifier: before?.find(({ name }) => name === variant.name)?.identifier ?? newIdentifier('var'),
    ...variant,
  }));
}

const TYPES = {
  scheduled: ['classic'],
  contextual: [],
  transactional: ['transactional'],
  dynamic: ['dynamic'],
} as const;

export async function readCampaignFilter(
  db: Queryable,
  entityId: number,
  query: Omit<api.CampaignListQuery, 'limit' | 'offset'>,
): Promise<CampaignFilter> {
  const { app_ids: apps, message_types: messages = ['push', 'inapp'] } = query;
  const ids = apps && (await listAppIds(db, entityId, apps));
  if (ids && apps.some((app) => !ids.has(app))) refuse(404, 'not_found', 'App not found');
  return {
    appIds: ids ? [...ids.values()] : null,
    statuses: query.status ?? null,
    types: query.workflow_types?.flatMap((type) => TYPES[type]) ?? null,
    push: messages.includes('push'),
    inapp: messages.includes('inapp'),
    search: query.search ?? null,
    createdFrom: query.from ?? null,
    createdBefore: query.to ?? null,
  };
}

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Campaign not found');
}

export const campaignRoutes: Route[] = [listAll, view, create, duplicate, replace, remove, launch, cancel];
