import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { type Entity, listEntitiesOf } from '../../store/accounts/entities.ts';
import { deleteToken, insertToken } from '../../store/accounts/tokens.ts';
import { lockLogin, type Membership, type User } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { rightsOf } from '../http/caller.ts';
import { EMAIL_CHARS, identifier, PASSWORD_CHARS, text } from '../http/input.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { checkPassword } from './check-password.ts';
import { EntityRecord, showEntity } from './entity-record.ts';
import { Enable, fullName, showRights } from './user-record.ts';

const SessionUser = z.object({
  id: z.int(),
  uid: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  full_name: z.string(),
  email: z.string(),
  entities: z.array(EntityRecord),
  enable: Enable,
  admin: z.boolean(),
  superadmin: z.boolean(),
  prefered_entity: z.object({ id: z.int(), name: z.string() }).nullable(),
});

const login = route({
  method: 'POST',
  path: '/api/login',
  summary: 'Obtain a token',
  description: 'The token acts in one entity: the one given, else the preferred one.',
  tag: 'Session',
  auth: 'none',
  body: z.object({
    email: text({ max: EMAIL_CHARS }),
    password: text({ max: PASSWORD_CHARS }),
    entity: z.union([z.int(), identifier], { error: 'must be the id or the identifier of an entity' }).optional(),
  }),
  malformed: {
    elements: ['email', 'password'], status: 400, message: 'The request must contain the user email and password.',
  },
  result: z.object({ auth_token: z.string(), user: SessionUser }),
  async handle({ body, address }, { db, secrets, settings }) {
    const user = await checkPassword(db, body.email, body.password, address);
    const entities = await listEntitiesOf(db, secrets, user.id);
    const entity = chooseEntity(entities, body.entity, user.preferedEntityId);
    return write(db, async (tx) => {
      const membership = await lockLogin(tx, user, entity.id);
      if (!membership) return refuse(401, 'unauthorized', 'The account has just changed: log in again');
      await insertAuditEntry(tx, entity.id, {
        actorKind: 'user', actorId: user.id, address, action: 'login', subjectKind: 'session',
      });
      const auth_token = await insertToken(tx, user.id, entity.id, settings.tokenTtlDays);
      return { auth_token, user: showUser(user, membership, entities) };
    });
  },
});

const logout = route({
  method: 'POST',
  path: '/api/logout',
  summary: 'Log out: end the token',
  tag: 'Session',
  role: 'person',
  // What it ends is the very token it comes with: an earlier reply would leave another token alive.
  idempotencyKey: 'ignored',
  async handle(who, { db }) {
    await write(db, async (tx) => {
      await deleteToken(tx, who.caller.token);
      await audit(tx, who, { action: 'logout', subjectKind: 'session' });
    });
    return noResult();
  },
});

/** The entity asked for by id or identifier; else the preferred one, else the first. */
function chooseEntity(entities: Entity[], asked: number | string | undefined, preferedId: number | null): Entity {
  const active = entities.filter((entity) => entity.active);
  const chosen = asked === undefined
    ? active.find(({ id }) => id === preferedId) ?? active[0]
    : active.find((entity) => entity.identifier === asked || String(entity.id) === String(asked));
  return chosen ?? refuse(404, 'not_found', 'Entity not found');
}

function showUser(user: User, membership: Membership, entities: Entity[]): z.input<typeof SessionUser> {
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
