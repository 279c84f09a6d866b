/** The routes about links between ids: what a request collects, and decisions on aliases. */
import * as api from '../../api/gdpr/gdpr-identifiers.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import {
  type Alias,
  insertPreview,
  type Link,
  listAliasesOf,
  listLinks,
  type Said,
  updateAlias,
} from '../../store/gdpr/links.ts';
import { findGdprRequest, listGdprPeople } from '../../store/gdpr/requests.ts';
import { audit, auditReads } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { previewIdentifiers } from '../../store/gdpr/identifiers.ts';

const previewUser = route(api.previewUserIdentifiers, async ({ query, ...who }, { db, secrets, settings }) => {
  const { entityId } = who.caller;
  const { user_id: userId } = query;
  await write(db, (tx) =>
    auditReads(tx, who, [secrets.customerHash(entityId, 'user_id', userId)], { what: 'identifiers' }),
  );
  const { total, links } = await previewIdentifiers(
    db,
    entityId,
    (tx) => insertPreview(tx, entityId, userId),
    (tx, requestId) => listLinks(tx, entityId, requestId, rowsOf(query)),
  );
  const path = `${api.IDENTIFIERS_PATH}?user_id=${encodeURIComponent(userId)}`;
  return showPage(
    settings,
    path,
    query,
    total,
    links.map((link) => show(link, userId)),
  );
});

const listOfRequest = route(api.listGdprIdentifiers, async ({ params, query, ...who }, { db, settings }) => {
  const { entityId } = who.caller;
  const request = await write(db, async (tx) => {
    const found =
      (await findGdprRequest(tx, entityId, params.request_id)) ??
      refuse(404, 'not_found', 'Request not found, or its week is over');
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'gdpr_request',
      subject: found.identifier,
      details: { what: 'identifiers' },
    });
    return found;
  });
  const list = (tx: Queryable) => listLinks(tx, entityId, request.id, rowsOf(query));
  const { total, links } =
    request.state === 'waiting' ? await previewIdentifiers(db, entityId, async () => request.id, list) : await list(db);
  const asked = await listGdprPeople(db, entityId, request.id);
  const people = new Map(asked.map(({ ordinal, userId, deviceId }) => [ordinal, userId ?? deviceId]));
  return showPage(
    settings,
    `/api/gdpr/requests/${request.identifier}/identifiers`,
    query,
    total,
    links.map((link) => show(link, people.get(link.ordinal) ?? null)),
  );
});

function show(
  { kind, id, origin, via, leftAlone, previousId, said: by }: Link,
  person: string | null,
): api.IdentifierLink {
  return { person, kind, id, origin, via, left_alone: leftAlone, previous_id: previousId, ...showSaid(by) };
}

function showSaid(by: Said | null) {
  return { app_id: by?.appIdentifier ?? null, device_id: by?.deviceId ?? null, said_at: by?.at.toISOString() ?? null };
}

const listAliases = route(api.listAliases, async ({ query, ...who }, { db, secrets, settings }) => {
  const { entityId } = who.caller;
  const { user_id: userId } = query;
  const { total, aliases } = await write(db, async (tx) => {
    await auditReads(tx, who, [secrets.customerHash(entityId, 'user_id', userId)], { what: 'aliases' });
    return listAliasesOf(tx, entityId, userId, rowsOf(query));
  });
  return showPage(
    settings,
    `${api.ALIASES_PATH}?user_id=${encodeURIComponent(userId)}`,
    query,
    total,
    aliases.map(showAlias),
  );
});

const decideAlias = route(api.decideAlias, async ({ body, ...who }, { db, secrets }) => {
  const { entityId, userId: decidedBy } = who.caller;
  const decision = body.decision === 'undecided' ? null : body.decision;
  return write(db, async (tx) => {
    const alias =
      (await updateAlias(tx, entityId, { previousId: body.previous_id, userId: body.user_id }, decision, decidedBy)) ??
      refuse(404, 'not_found', `Alias not found: GET ${api.ALIASES_PATH}?user_id=… lists those of an id`);
    await audit(tx, who, {
      action: 'update',
      subjectKind: 'customer',
      subject: null,
      details: { what: 'alias', decision: body.decision },
      customerHash: secrets.customerHash(entityId, 'user_id', alias.userId),
    });
    return showAlias(alias);
  });
});

function showAlias({ previousId, userId, said: by, witnessed, decision, decidedAt }: Alias): api.Alias {
  return {
    previous_id: previousId,
    user_id: userId,
    ...showSaid(by),
    witnessed,
    decision,
    decided_at: decidedAt?.toISOString() ?? null,
  };
}

export const gdprIdentifierRoutes: Route[] = [previewUser, listOfRequest, listAliases, decideAlias];
