/** The routes of privacy requests: make them, show their status, decide on them, poll for news. */
import * as api from '../../api/gdpr/gdpr.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { TELLING_EXPORTERS } from '../../domain/gdpr/deletion-list.ts';
import type { DeclineReason } from '../../domain/gdpr/gdpr-codes.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { type App, listAppsById } from '../../store/apps/apps.ts';
import { listSimilarIds } from '../../store/attributes/similar-ids.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { archiveUrl } from '../../store/gdpr/archives.ts';
import { countBeforeApproval } from '../../store/gdpr/count-before-approval.ts';
import { listWaitingPeople, type WaitingPerson } from '../../store/gdpr/holds.ts';
import { findRequesterEmail } from '../../store/gdpr/mails.ts';
import type { GdprPerson, GdprRequest, GdprRequestType } from '../../store/gdpr/request-record.ts';
import {
  countGdprRequestsByState,
  countPeopleOfRequests,
  findGdprRequest,
  insertGdprRequest,
  listGdprPeople,
  listGdprRequests,
  listLatestRequests,
  type PolledPerson,
  updateDecision,
} from '../../store/gdpr/requests.ts';
import { deleteInternalErrorsOfJob } from '../../store/jobs/internal-errors.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditEach, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { findInternalError, findInternalErrors } from '../jobs/show-internal-error.ts';
import { startSoon } from '../jobs/start-soon.ts';

const askForAccess = route(api.requestAccess, (asked, deps) => takeRequest('access', asked, deps));

const askForDeletion = route(api.requestDeletion, (asked, deps) => takeRequest('delete', asked, deps));

const viewAccess = route(api.viewAccessRequest, async ({ query: { request_id }, ...who }, deps) => {
  return write(deps.db, async (tx) => {
    const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'access');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
    return showAccess(tx, deps, asked);
  });
});

const viewDeletion = route(api.viewDeletionRequest, async ({ query: { request_id }, ...who }, deps) => {
  const { asked, shown } = await write(deps.db, async (tx) => {
    const found = await knownGdprRequest(tx, who.caller.entityId, request_id, 'delete');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: found.identifier });
    return { asked: found, shown: await showDeletion(tx, found) };
  });
  return { ...shown, would_erase: await countBeforeApproval(deps, asked) };
});

const WEEK_MS = 7 * DAY_MS;

const pollLatest = route(
  api.listLatestGdprRequests,
  async ({ query: { users = null, request_types: types = api.GDPR_TYPES, modified_since: asked }, ...who }, deps) => {
    const { entityId } = who.caller;
    const weekAgo = new Date(Date.now() - WEEK_MS);
    const since = asked && asked > weekAgo ? asked : weekAgo;
    return write(deps.db, async (tx) => {
      const polled = await listLatestRequests(tx, entityId, {
        users: users && [...new Set(users)],
        types,
        since,
        limit: api.MAX_POLLED,
      });
      const details = { gdpr_requests: polled.length };
      if (!users) await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', details });
      else
        await auditReads(
          tx,
          who,
          users.map((user) => deps.secrets.customerHash(entityId, 'user_id', user)),
          details,
        );
      return polled.map((each) => showPolled(deps, each));
    });
  },
);

const listRequests = route(api.listGdprRequests, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { type, state, source, request_id: requestId, ...page } = query;
  const filter = {
    type: type ?? null,
    state: state ?? null,
    source: source ?? null,
    identifier: requestId ?? null,
  };
  const { items: requests, total } = await listGdprRequests(db, entityId, filter, rowsOf(page));
  const filtered = Object.entries({ type, state, source, request_id: requestId }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const shown = showPage(
    settings,
    [api.listGdprRequests.path, filtered.join('&')].filter(Boolean).join('?'),
    page,
    total,
    await listItems(db, entityId, requests),
  );
  return { ...shown, by_state: await countGdprRequestsByState(db, entityId, filter) };
});

const viewTheRequest = route(api.viewGdprRequest, async ({ params: { request_id }, ...who }, deps) => {
  const { asked, shown } = await write(deps.db, async (tx) => {
    const found =
      (await findGdprRequest(tx, who.caller.entityId, request_id)) ??
      refuse(404, 'not_found', 'Request not found, or its week is over');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: found.identifier });
    return { asked: found, shown: await viewRequest(tx, deps, found) };
  });
  return asked.type === 'delete' ? { ...shown, would_erase: await countBeforeApproval(deps, asked) } : shown;
});

const DECISIONS = { approve: 'accepted', decline: 'declined' } as const;
type Decision = keyof typeof DECISIONS;

const approve = route(api.approveGdprRequest, async ({ params, log, keepReply, ...who }, deps) => {
  const { request, answer } = await write(deps.db, (tx) =>
    decide(tx, who, { requestId: params.request_id, decision: 'approve' }, keepReply),
  );
  await startSoon(deps, log, request.type, jobRefOf(request));
  return answer;
});

const decline = route(api.declineGdprRequest, async ({ params, body: { reason }, keepReply, ...who }, { db }) => {
  const decided = await write(db, (tx) =>
    decide(tx, who, { requestId: params.request_id, decision: 'decline', ...(reason && { reason }) }, keepReply),
  );
  return decided.answer;
});

async function decide(
  tx: Tx,
  { caller, address }: Pick<Circumstances, 'address'> & { caller: Caller },
  { requestId, decision, reason }: { requestId: string; decision: Decision; reason?: DeclineReason },
  keepReply: KeepReply,
) {
  const { entityId, userId } = caller;
  const request =
    (await updateDecision(tx, entityId, requestId, { state: DECISIONS[decision], decidedBy: userId })) ??
    refuseUndecidable(await findGdprRequest(tx, entityId, requestId), decision);
  await deleteInternalErrorsOfJob(tx, entityId, request.type, requestId);
  await audit(
    tx,
    { caller, address },
    { action: decision, subjectKind: 'gdpr_request', subject: requestId, details: { ...(reason && { reason }) } },
  );
  const [item] = await listItems(tx, entityId, [request]);
  return { request, answer: await keepReply(tx, item!) };
}

function refuseUndecidable(request: GdprRequest | null, decision: Decision): never {
  if (!request) return refuse(404, 'not_found', 'Request not found');
  return refuse(
    409,
    'conflict',
    `Request ${request.identifier} is ${request.state}: only one that is waiting can be ${decision}d`,
  );
}

export const gdprRoutes: Route[] = [
  askForAccess,
  viewAccess,
  askForDeletion,
  viewDeletion,
  pollLatest,
  listRequests,
  viewTheRequest,
  approve,
  decline,
];

type Asked = Circumstances & { body: api.NewGdprRequest; caller: Caller; keepReply: KeepReply };

const STATUS = { access: '/api/gdpr_request/export', delete: '/api/gdpr_request/delete' };

/** Inserts a request with an audit entry for each person, and starts its workflow. The response names no person. */
async function takeRequest(type: GdprRequestType, { body, keepReply, ...who }: Asked, deps: RouteDependencies) {
  const { made, answer } = await write(deps.db, async (tx) => {
    const request = await insertAsked(tx, type, body, who.caller);
    const hashes = body.users.map((userId) => deps.secrets.customerHash(request.entityId, 'user_id', userId));
    const entry = {
      action: 'create',
      subjectKind: 'gdpr_request',
      subject: request.identifier,
      details: { type },
    } as const;
    await auditEach(
      tx,
      who,
      hashes.map((customerHash) => ({ ...entry, customerHash })),
    );
    const callbackUrl = `${deps.settings.publicUrl}${STATUS[type]}?request_id=${request.identifier}`;
    return { made: request, answer: await keepReply(tx, { callback_url: callbackUrl }) };
  });
  await startSoon(deps, who.log, made.type, jobRefOf(made));
  return answer;
}

async function insertAsked(
  tx: Tx,
  type: GdprRequestType,
  { users, skip_email: skipEmail }: Asked['body'],
  { entityId, userId, serviceTokenId }: Caller,
): Promise<GdprRequest> {
  const requester =
    serviceTokenId === null
      ? ({ kind: 'user', id: userId } as const)
      : ({ kind: 'service_token', id: serviceTokenId } as const);
  const email = skipEmail ? null : await findRequesterEmail(tx, { entityId, requester });
  return insertGdprRequest(tx, entityId, {
    type,
    requester,
    skipEmail,
    source: 'api',
    appId: null,
    emails: email === null ? [] : [email],
    state: 'accepted',
    people: users.map((each) => ({ userId: each, deviceId: null })),
  });
}

/** Returns a request of the type that has not expired, or refuses in the reference's words. */
async function knownGdprRequest(
  db: Queryable,
  entityId: number,
  id: string,
  type: GdprRequestType,
): Promise<GdprRequest> {
  const found = await findGdprRequest(db, entityId, id);
  if (found?.type === type) return found;
  const message = `No request found or request expired for request id ${id}`;
  return refuse(400, 'bad_request', message, {
    messages: [{ element: 'request_id', severity: 'error', message }],
    errors: [`request_id: ${message}`],
  });
}

type Shown = Pick<RouteDependencies, 'secrets' | 'settings'>;

async function showAccess(db: Tx, deps: Shown, asked: GdprRequest): Promise<api.AccessStatus> {
  const people = await listGdprPeople(db, asked.entityId, asked.id);
  const urls = byName(people, (person) => downloadOf(deps, asked, person) ?? person.message);
  return { ...(await showStatus(db, asked, people)), download_urls: urls };
}

async function showDeletion(db: Tx, asked: GdprRequest): Promise<api.DeletionStatus> {
  const people = await listGdprPeople(db, asked.entityId, asked.id);
  const states = byName(people, ({ state }) => (state === 'treated' ? 'treated' : null));
  return {
    ...(await showStatus(db, asked, people)),
    user_ids: states,
    kept_values: asked.keptValues,
    would_erase: null,
  };
}

async function showStatus(db: Tx, asked: GdprRequest, people: GdprPerson[]) {
  const { stage, erased, survivors, lookedAt } = asked;
  const faults = faultsOf(asked);
  const isAnyHeld = people.some(({ state }) => state === 'held');
  return {
    status: statusOf(asked),
    requested_at: asked.receivedAt.toISOString(),
    skip_email: asked.skipEmail,
    email: await findRequesterEmail(db, asked),
    state: asked.state,
    progress: {
      stage,
      erased,
      survivors,
      looked_at: iso(lookedAt),
      fault: faults[0] ?? null,
      faults,
      internal_error: await findInternalError(db, asked.type, asked),
    },
    waiting: isAnyHeld ? showWaiting(people, await listWaitingPeople(db, asked.entityId, asked.id)) : {},
    expires_at: iso(asked.expiresAt),
    similar_ids: await findSimilarIds(db, asked, people),
  };
}

/** Looked up for each reader, so that no status shows an erased person. */
async function findSimilarIds(
  tx: Tx,
  { entityId }: GdprRequest,
  people: GdprPerson[],
): Promise<Record<string, string[]>> {
  const found = await listSimilarIds(
    tx,
    entityId,
    people.flatMap(({ userId }) => userId ?? []),
    api.MAX_SIMILAR_IDS,
  );
  const byAsked = Map.groupBy(found, ({ asked }) => asked);
  return Object.fromEntries([...byAsked].map(([asked, some]) => [asked, some.map(({ similar }) => similar)]));
}

function showWaiting(people: GdprPerson[], waiting: WaitingPerson[]): Record<string, string> {
  const byOrdinal = new Map(waiting.map((person) => [person.ordinal, person]));
  return byName(
    people.filter(({ state }) => state === 'held'),
    ({ ordinal }) => sayWaiting(byOrdinal.get(ordinal)),
  );
}

/** The workflow does not know yet of a hold that was just released. */
function sayWaiting(on: WaitingPerson | undefined): string {
  if (!on) return 'no longer on hold: it goes on soon';
  return `${on.kind === 'hold' ? 'on hold' : 'restricted'} since ${on.since.toISOString()} (${on.reason})`;
}

async function viewRequest(db: Tx, deps: Shown, asked: GdprRequest): Promise<api.GdprRequest> {
  const apps = await listAppsById(db, asked.entityId, asked.appId === null ? [] : [asked.appId]);
  const shown = asked.type === 'access' ? await showAccess(db, deps, asked) : await showDeletion(db, asked);
  return { ...showRequest(asked, apps), ...shown };
}

async function listItems(db: Queryable, entityId: number, requests: GdprRequest[]): Promise<api.ListedGdprRequest[]> {
  const people = await countPeopleOfRequests(
    db,
    entityId,
    requests.map(({ id }) => id),
  );
  const apps = await listAppsById(
    db,
    entityId,
    requests.flatMap(({ appId }) => appId ?? []),
  );
  const errorOf = {
    access: await findInternalErrors(
      db,
      'access',
      entityId,
      requests.map(({ identifier }) => identifier),
    ),
    delete: await findInternalErrors(
      db,
      'delete',
      entityId,
      requests.map(({ identifier }) => identifier),
    ),
  };
  return requests.map((asked) => {
    const { people: all, treated, held } = people.get(asked.id) ?? { people: 0, treated: 0, held: 0 };
    return {
      ...showRequest(asked, apps),
      status: statusOf(asked),
      state: asked.state,
      requested_at: asked.receivedAt.toISOString(),
      expires_at: iso(asked.expiresAt),
      stage: asked.stage,
      fault: faultsOf(asked)[0] ?? null,
      internal_error: errorOf[asked.type](asked.identifier),
      people: { asked: all, treated, held },
    };
  });
}

function showRequest({ identifier, type, source, appId, treatedAt }: GdprRequest, apps: Map<number, App>) {
  return {
    request_id: identifier,
    type,
    source,
    app_id: apps.get(appId ?? 0)?.identifier ?? null,
    treated_at: iso(treatedAt),
  };
}

function showPolled(deps: Shown, { request: asked, app, person, forwardedAt }: PolledPerson): api.PolledGdprRequest {
  const source = asked.source === 'sdk' ? 'sdk' : 'api';
  return {
    user_id: person.userId,
    received_at: asked.receivedAt.toISOString(),
    request_type: asked.type,
    forwarded_to_emails: forwardedAt ? asked.emails : [],
    forwarded_at: iso(forwardedAt),
    treated_by_svc_at: iso(person.treatedAt),
    ...(asked.type === 'access' ? { download_link: downloadOf(deps, asked, person) } : {}),
    source,
    ...(source === 'sdk' ? { app_id: app } : {}),
    request_id: asked.identifier,
  };
}

function downloadOf(
  { secrets, settings }: Shown,
  asked: Pick<GdprRequest, 'identifier'>,
  person: GdprPerson,
): string | null {
  return archiveUrl(settings.publicUrl, secrets, asked, person);
}

function statusOf({ state }: GdprRequest) {
  return state === 'treated' ? ('treated' as const) : ('received' as const);
}

/** A device without a user stands for its user. */
function byName<T>(people: GdprPerson[], tell: (person: GdprPerson) => T): Record<string, T> {
  return Object.fromEntries(people.map((person) => [person.userId ?? person.deviceId ?? '', tell(person)]));
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

/** A fault of a privacy request. `location` null: it keeps the request as a whole. */
type RequestFault = { location: string | null; since: string; reason: string; what_to_do: string };

type Faults = {
  stage: string | null;
  fault: string | null;
  faultSince: Date | null;
  locationFaults: Record<string, { since: string; reason: string }>;
  givenUpAt: Date | null;
};

/** Returns what keeps a request, the oldest fault first. */
function faultsOf({ stage, fault, faultSince, locationFaults, givenUpAt }: Faults): RequestFault[] {
  const whole = fault === null ? [] : [{ location: null, since: faultSince ?? new Date(0), reason: fault }];
  const atLocations = Object.entries(locationFaults).map(([location, { since, reason }]) => ({
    location,
    since: new Date(since),
    reason,
  }));
  return [...whole, ...atLocations]
    .toSorted((a, b) => a.since.getTime() - b.since.getTime())
    .map(({ since, ...found }) => ({
      ...found,
      since: since.toISOString(),
      what_to_do: givenUpAt === null ? whatToDo(found.location, stage) : GIVEN_UP,
    }));
}

const GIVEN_UP =
  'Report the error in Millrace, and restart the workers with a version that mends it. ' +
  'POST /api/gdpr/requests/<request_id>/approve starts the request again.';

const CHECK_BUCKET =
  'Check the bucket: POST /api/data_exporters/<exporter_id>/check. The list is put there again by itself, for a day; ' +
  'then the request goes on, and the next run of the exporter delivers the list.';

function whatToDo(location: string | null, stage: string | null): string {
  if (location === null && stage === TELLING_EXPORTERS) return CHECK_BUCKET;
  if (location === null)
    return 'See that the file store and the database can be reached. The request goes on by itself.';
  const where = location.endsWith('/')
    ? `See that ${location} in the file store can be read and written`
    : 'See that the database works';
  return (
    `${where}; if so, look for the request in the logs of workers, and report the error. The other locations are erased ` +
    'meanwhile, and this one is tried again by itself.'
  );
}
