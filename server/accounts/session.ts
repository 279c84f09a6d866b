/** The routes of sessions: log in, log out, switch the entity; by token, or by cookie in the console. */
import * as api from '../../api/accounts/session.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { type Entity, listEntitiesOf, listEntityNamesOf } from '../../store/accounts/entities.ts';
import { deleteToken, findTokenEnds, insertToken, updateTokenEntity } from '../../store/accounts/tokens.ts';
import { findUser, lockLogin, type Membership, type User } from '../../store/accounts/users.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { ServerSettings } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import { type Caller, rightsOf, sessionCookie } from '../http/caller.ts';
import { bare, noResult, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { fullName, showEntity, showRights } from './account-records.ts';
import { checkPassword } from './passwords.ts';

const login = route(api.login, async ({ body, address }, { db, secrets, settings }) => {
  const user = await checkPassword(db, body.email, body.password, address);
  const entities = await listEntitiesOf(db, secrets, user.id);
  const entity = chooseEntity(entities, body.entity, user.preferedEntityId);
  return write(db, async (tx) => {
    const membership = await logIn(tx, user, entity.id, address);
    const auth_token = await insertToken(tx, user.id, entity.id, settings.tokenTtlDays);
    return { auth_token, user: showUser(user, membership, entities) };
  });
});

async function logIn(tx: Queryable, user: User, entityId: number, address: string): Promise<Membership> {
  const membership = await lockLogin(tx, user, entityId);
  if (!membership) return refuse(401, 'unauthorized', 'The account has just changed: log in again');
  await insertAuditEntry(tx, entityId, {
    actorKind: 'user',
    actorId: user.id,
    address,
    action: 'login',
    subjectKind: 'session',
  });
  return membership;
}

const logout = route(api.logout, async (who, { db }) => {
  await write(db, async (tx) => {
    await deleteToken(tx, who.caller.token);
    await audit(tx, who, { action: 'logout', subjectKind: 'session' });
  });
  return noResult();
});

const openSession = route(api.openSession, async ({ body, address, isOfConsole }, { db, settings }) => {
  if (!isOfConsole)
    refuse(
      403,
      'forbidden',
      'Only pages of this server, over HTTPS, open a session: use POST /api/login to get a token',
    );
  const user = await checkPassword(db, body.email, body.password, address);
  const entities = await listEntityNamesOf(db, user.id);
  const { id } = chooseEntity(entities, body.entity, user.preferedEntityId);
  return write(db, async (tx) => {
    const { rights, admin } = await logIn(tx, user, id, address);
    const token = await insertToken(tx, user.id, id, null);
    const caller = { userId: user.id, entityId: id, token, rights: rightsOf({ rights, superadmin: user.superadmin }) };
    return withCookie(await showSession(tx, settings, { ...caller, admin, superadmin: user.superadmin }), token);
  });
});

const viewSession = route(api.viewSession, async ({ caller }, { db, settings }) => showSession(db, settings, caller));

const switchSession = route(api.switchSession, async (who, { db, settings }) => {
  const { caller, body } = who;
  const { id } = chooseEntity(await listEntityNamesOf(db, caller.userId), body.entity, null);
  return write(db, async (tx) => {
    const { rights, admin } = (await updateTokenEntity(tx, caller.token, id)) ?? refuseEntity();
    await audit(tx, who, { action: 'logout', subjectKind: 'session' });
    await audit(tx, who, { action: 'login', subjectKind: 'session' }, id);
    const { superadmin } = caller;
    return showSession(tx, settings, { ...caller, entityId: id, rights: rightsOf({ rights, superadmin }), admin });
  });
});

const endSession = route(api.endSession, async (who, { db }) => {
  await write(db, async (tx) => {
    await deleteToken(tx, who.caller.token);
    await audit(tx, who, { action: 'logout', subjectKind: 'session' });
  });
  return withCookie(null, null);
});

function withCookie(session: api.ConsoleSession | null, token: string | null): Reply {
  const { body, status, headers } = session === null ? noResult() : bare({ success: true, result: session });
  return new Reply(body, status, { ...headers, ...sessionCookie(token) });
}

async function showSession(
  db: Queryable,
  { temporalUi }: Pick<ServerSettings, 'temporalUi'>,
  caller: Pick<Caller, 'userId' | 'entityId' | 'rights' | 'admin' | 'superadmin' | 'token'>,
): Promise<api.ConsoleSession> {
  const [user, entities] = [await findUser(db, caller.userId), await listEntityNamesOf(db, caller.userId)];
  const ends = await findTokenEnds(db, caller.token);
  if (!ends) return refuse(401, 'unauthorized', 'The session has ended: log in again');
  const { uid, email } = user!;
  const shown = entities.filter(({ active }) => active).map(({ id, identifier, name }) => ({ id, identifier, name }));
  return {
    user: { uid, email, full_name: fullName(user!) },
    entity: shown.find(({ id }) => id === caller.entityId) ?? refuseEntity(),
    entities: shown,
    enable: showRights(caller.rights),
    admin: caller.admin,
    superadmin: caller.superadmin,
    now: new Date().toISOString(),
    idle_at: ends.expiresAt.toISOString(),
    ends_at: ends.endsAt?.toISOString() ?? null,
    temporal_ui: (caller.superadmin && temporalUi) || null,
  };
}

/** Returns the entity with this id or identifier, else the preferred one, else the first. */
function chooseEntity<E extends Pick<Entity, 'id' | 'identifier' | 'active'>>(
  entities: E[],
  asked: number | string | undefined,
  preferedId: number | null,
): E {
  const active = entities.filter((entity) => entity.active);
  const chosen =
    asked === undefined
      ? (active.find(({ id }) => id === preferedId) ?? active[0])
      : active.find((entity) => entity.identifier === asked || String(entity.id) === String(asked));
  return chosen ?? refuseEntity();
}

function refuseEntity(): never {
  return refuse(404, 'not_found', 'Entity not found');
}

function showUser(user: User, membership: Membership, entities: Entity[]): api.SessionUser {
  const rights = rightsOf({ rights: membership.rights, superadmin: user.superadmin });
  const prefered = entities.find(({ id }) => id === user.preferedEntityId);
  return {
    id: user.id,
    uid: user.uid,
    first_name: user.firstName,
    last_name: user.lastName,
    full_name: fullName(user),
    email: user.email,
    entities: entities.map(showEntity),
    enable: showRights(rights),
    admin: membership.admin,
    superadmin: user.superadmin,
    prefered_entity: prefered ? { id: prefered.id, name: prefered.name } : null,
  };
}

export const sessionRoutes: Route[] = [login, logout, openSession, viewSession, switchSession, endSession];
