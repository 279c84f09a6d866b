import * as api from '../../api/accounts/session.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { type Entity, listEntitiesOf } from '../../store/accounts/entities.ts';
import { deleteToken, insertToken } from '../../store/accounts/tokens.ts';
import { lockLogin, type Membership, type User } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { rightsOf } from '../http/caller.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { fullName, showEntity, showRights } from './account-records.ts';
import { checkPassword } from './passwords.ts';

const login = route(api.login, async ({ body, address }, { db, secrets, settings }) => {
  const user = await checkPassword(db, body.email, body.password, address);
  const entities = await listEntitiesOf(db, secrets, user.id);
  const entity = chooseEntity(entities, body.entity, user.preferedEntityId);
  return write(db, async (tx) => {
    const membership = await lockLogin(tx, user, entity.id);
    if (!membership) return refuse(401, 'unauthorized', 'The account has just changed: log in again');
    await insertAuditEntry(tx, entity.id, {
      actorKind: 'user',
      actorId: user.id,
      address,
      action: 'login',
      subjectKind: 'session',
    });
    const auth_token = await insertToken(tx, user.id, entity.id, settings.tokenTtlDays);
    return { auth_token, user: showUser(user, membership, entities) };
  });
});

const logout = route(api.logout, async (who, { db }) => {
  await write(db, async (tx) => {
    await deleteToken(tx, who.caller.token);
    await audit(tx, who, { action: 'logout', subjectKind: 'session' });
  });
  return noResult();
});

/** Returns the entity with this id or identifier; by default the preferred one, else the first. */
function chooseEntity(entities: Entity[], asked: number | string | undefined, preferedId: number | null): Entity {
  const active = entities.filter((entity) => entity.active);
  const chosen =
    asked === undefined
      ? (active.find(({ id }) => id === preferedId) ?? active[0])
      : active.find((entity) => entity.identifier === asked || String(entity.id) === String(asked));
  return chosen ?? refuse(404, 'not_found', 'Entity not found');
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

export const sessionRoutes: Route[] = [login, logout];
