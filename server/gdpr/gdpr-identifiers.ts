import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { ALIAS_DECISIONS, LEFT_REASONS, ORIGINS } from '../../domain/gdpr/gdpr-codes.ts';
import { write } from '../../store/core/database.ts';
import {
  type Alias, insertPreview, type Link, listAliasesOf, listLinks, previewLinks, type Said, updateAlias,
} from '../../store/gdpr/links.ts';
import { findGdprRequest, listGdprPeople } from '../../store/gdpr/requests.ts';
import { audit, auditReads } from '../http/audit.ts';
import { customerId, identifier } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';

/** What people of requests are known by, and whose word that rests on. */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;
const IDENTIFIERS = '/api/gdpr/identifiers';
const ALIASES = '/api/gdpr/aliases';

const said = {
  app_id: z.string().nullable().describe('The app whose SDK said so first'),
  device_id: z.string().nullable().describe('The device that said so; null: none, or it is no longer known'),
  said_at: z.iso.datetime().nullable(),
};

const LinkRecord = z.object({
  person: z.string().nullable().describe('The id that was asked for'),
  kind: z.enum(['user_id', 'device_id', 'push_token', 'whole_device']).describe('whole_device: all that the device has sent'),
  id: z.string(),
  origin: z.enum(ORIGINS).nullable()
    .describe('asked; alias: an SDK said so; confirmed: staff confirmed an alias; device: used by the person'),
  via: z.string().nullable().describe('The id that leads to it'),
  left_alone: z.enum(LEFT_REASONS).nullable()
    .describe('Null: it is the person\'s. unconfirmed: only an SDK says so; shared: others use it, too; too_many: beyond the first 1,000'),
  ...said,
});

const DESCRIPTION = 'What is shown or erased with the person, and what an SDK has linked to them and is left alone. Confirm or refuse '
  + `an alias with PUT ${ALIASES}.`;

const previewUser = route({
  ...SHARED,
  method: 'GET',
  path: IDENTIFIERS,
  summary: 'List the identifiers that a request for a user would cover',
  description: DESCRIPTION,
  query: z.object({ ...pageQuery, user_id: customerId }),
  result: pageOf(LinkRecord),
  async handle({ query, ...who }, { db, secrets, settings }) {
    const { entityId } = who.caller;
    const { user_id: userId } = query;
    await write(db, (tx) => auditReads(tx, who, [secrets.customerHash(entityId, 'user_id', userId)], { what: 'identifiers' }));
    const { total, links } = await previewLinks(db, entityId, (tx) => insertPreview(tx, entityId, userId), rowsOf(query));
    const path = `${IDENTIFIERS}?user_id=${encodeURIComponent(userId)}`;
    return showPage(settings, path, query, total, links.map((link) => show(link, userId)));
  },
});

const listOfRequest = route({
  ...SHARED,
  method: 'GET',
  path: '/api/gdpr/requests/:request_id/identifiers',
  summary: 'List the identifiers of the people of a request',
  description: `${DESCRIPTION} Of one that waits for approval: what it would gather now. What is theirs is forgotten once they are `
    + 'treated.',
  params: z.object({ request_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(LinkRecord),
  async handle({ params, query, ...who }, { db, settings }) {
    const { entityId } = who.caller;
    const request = await write(db, async (tx) => {
      const found = await findGdprRequest(tx, entityId, params.request_id)
        ?? refuse(404, 'not_found', 'Request not found, or its week is over');
      await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: found.identifier, details: { what: 'identifiers' } });
      return found;
    });
    const { total, links } = request.state === 'waiting'
      ? await previewLinks(db, entityId, () => Promise.resolve(request.id), rowsOf(query))
      : await listLinks(db, entityId, request.id, rowsOf(query));
    const asked = await listGdprPeople(db, entityId, request.id);
    const people = new Map(asked.map(({ ordinal, userId, deviceId }) => [ordinal, userId ?? deviceId]));
    return showPage(settings, `/api/gdpr/requests/${request.identifier}/identifiers`, query, total,
      links.map((link) => show(link, people.get(link.ordinal) ?? null)));
  },
});

function show({ kind, id, origin, via, leftAlone, said: by }: Link, person: string | null): z.input<typeof LinkRecord> {
  return { person, kind, id, origin, via, left_alone: leftAlone, ...showSaid(by) };
}

function showSaid(by: Said | null) {
  return { app_id: by?.appIdentifier ?? null, device_id: by?.deviceId ?? null, said_at: by?.at.toISOString() ?? null };
}

const AliasRecord = z.object({
  previous_id: z.string(), user_id: z.string(), ...said,
  witnessed: z.boolean()
    .describe('The device that said so was the only one to have used the earlier id: it is followed unless it is refused'),
  decision: z.enum(ALIAS_DECISIONS).nullable(), decided_at: z.iso.datetime().nullable(),
});

const listAliases = route({
  ...SHARED,
  method: 'GET',
  path: ALIASES,
  summary: 'List the aliases from and to an id, oldest first',
  query: z.object({ ...pageQuery, user_id: customerId.describe('Either id') }),
  result: pageOf(AliasRecord),
  async handle({ query, ...who }, { db, secrets, settings }) {
    const { entityId } = who.caller;
    const { user_id: userId } = query;
    const { total, aliases } = await write(db, async (tx) => {
      await auditReads(tx, who, [secrets.customerHash(entityId, 'user_id', userId)], { what: 'aliases' });
      return listAliasesOf(tx, entityId, userId, rowsOf(query));
    });
    return showPage(settings, `${ALIASES}?user_id=${encodeURIComponent(userId)}`, query, total, aliases.map(showAlias));
  },
});

const decideAlias = route({
  ...SHARED,
  method: 'PUT',
  path: ALIASES,
  summary: 'Confirm or refuse an alias between two ids',
  description: 'A confirmed alias is followed in either direction, a refused one never. It holds for requests that have not begun to '
    + 'erase; for one that is over ask again.',
  body: z.object({
    previous_id: customerId, user_id: customerId,
    decision: z.enum([...ALIAS_DECISIONS, 'undecided']).describe('undecided: takes a decision back'),
  }),
  result: AliasRecord,
  async handle({ body, ...who }, { db, secrets }) {
    const { entityId, userId: decidedBy } = who.caller;
    const decision = body.decision === 'undecided' ? null : body.decision;
    return write(db, async (tx) => {
      const alias = await updateAlias(tx, entityId, { previousId: body.previous_id, userId: body.user_id }, decision, decidedBy)
        ?? refuse(404, 'not_found', `Alias not found: GET ${ALIASES}?user_id=… lists those of an id`);
      await audit(tx, who, {
        action: 'update', subjectKind: 'customer', subject: null, details: { what: 'alias', decision: body.decision },
        customerHash: secrets.customerHash(entityId, 'user_id', alias.userId),
      });
      return showAlias(alias);
    });
  },
});

function showAlias({ previousId, userId, said: by, witnessed, decision, decidedAt }: Alias): z.input<typeof AliasRecord> {
  return { previous_id: previousId, user_id: userId, ...showSaid(by), witnessed, decision, decided_at: decidedAt?.toISOString() ?? null };
}

export const gdprIdentifierRoutes: Route[] = [previewUser, listOfRequest, listAliases, decideAlias];
