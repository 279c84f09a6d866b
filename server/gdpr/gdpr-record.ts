import * as api from '../../api/gdpr/gdpr.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { faultsOf } from '../../domain/gdpr/request-fault.ts';
import { type App, listAppsById } from '../../store/apps/apps.ts';
import { listSimilarIds } from '../../store/attributes/similar-ids.ts';
import type { Queryable, Tx } from '../../store/core/database.ts';
import { archiveUrl } from '../../store/gdpr/archives.ts';
import {
  countPeopleOfRequests,
  findGdprRequest,
  listGdprPeople,
  type PolledPerson,
} from '../../store/gdpr/requests.ts';
import { findRequesterEmail } from '../../store/gdpr/mails.ts';
import type { GdprPerson, GdprRequest, GdprRequestType } from '../../store/gdpr/request-record.ts';
import { listWaitingPeople, type WaitingPerson } from '../../store/gdpr/holds.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { findInternalError, findInternalErrors } from '../jobs/show-internal-error.ts';

/** A request of the caller's entity, of that type, whose week is not over. The refusal has the reference's words. */
export async function knownGdprRequest(
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

export async function showAccess(db: Tx, deps: Shown, asked: GdprRequest): Promise<api.AccessStatus> {
  const people = await listGdprPeople(db, asked.entityId, asked.id);
  const urls = byName(people, (person) => downloadOf(deps, asked, person) ?? person.message);
  return { ...(await showStatus(db, asked, people)), download_urls: urls };
}

export async function showDeletion(db: Tx, asked: GdprRequest): Promise<api.DeletionStatus> {
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

/** Looked up anew for each reader: an erased person is in no status. */
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

/** Of one whose hold went just now the flow does not know yet. */
function sayWaiting(on: WaitingPerson | undefined): string {
  if (!on) return 'no longer on hold: it goes on soon';
  return `${on.kind === 'hold' ? 'on hold' : 'restricted'} since ${on.since.toISOString()} (${on.reason})`;
}

/** As the status of its type, and which request it is. */
export async function viewRequest(db: Tx, deps: Shown, asked: GdprRequest): Promise<api.GdprRequest> {
  const apps = await listAppsById(db, asked.entityId, asked.appId === null ? [] : [asked.appId]);
  const shown = asked.type === 'access' ? await showAccess(db, deps, asked) : await showDeletion(db, asked);
  return { ...showRequest(asked, apps), ...shown };
}

export async function listItems(
  db: Queryable,
  entityId: number,
  requests: GdprRequest[],
): Promise<api.ListedGdprRequest[]> {
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

export function showPolled(
  deps: Shown,
  { request: asked, app, person, forwardedAt }: PolledPerson,
): api.PolledGdprRequest {
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

/** A device that nobody used by name stands for its user. */
function byName<T>(people: GdprPerson[], tell: (person: GdprPerson) => T): Record<string, T> {
  return Object.fromEntries(people.map((person) => [person.userId ?? person.deviceId ?? '', tell(person)]));
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
