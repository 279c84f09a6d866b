import { z } from 'zod';
import { EMAIL_CHARS, identifier, PASSWORD_CHARS, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { Entity } from './entities.ts';
import { Enable } from './users.ts';

export const SessionUser = z
  .object({
    id: z.int(),
    uid: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    full_name: z.string(),
    email: z.string(),
    entities: z.array(Entity),
    enable: Enable,
    admin: z.boolean(),
    superadmin: z.boolean(),
    prefered_entity: z.object({ id: z.int(), name: z.string() }).nullable(),
  })
  .meta({ id: 'SessionUser' });
export type SessionUser = z.output<typeof SessionUser>;

export const login = operation({
  id: 'login',
  method: 'POST',
  path: '/api/login',
  summary: 'Log in and get a token',
  description: 'The token acts in one entity: the entity of the request, else the preferred one.',
  audits: 'login session',
  tag: 'Session',
  auth: 'none',
  body: z.object({
    email: text({ max: EMAIL_CHARS }),
    password: text({ max: PASSWORD_CHARS }),
    entity: z
      .union([z.int(), identifier], { error: 'must be the id or the identifier of an entity' })
      .optional()
      .describe('id or identifier of the entity in which the token acts'),
  }),
  malformed: {
    elements: ['email', 'password'],
    status: 400,
    message: 'The request must contain the user email and password.',
  },
  result: z.object({ auth_token: z.string(), user: SessionUser }),
});

export const logout = operation({
  id: 'logout',
  method: 'POST',
  path: '/api/logout',
  summary: 'Log out: end the token',
  audits: 'logout session',
  tag: 'Session',
  role: 'person',
  // A logout ends the token that it comes with: a stored reply would leave another token valid.
  idempotencyKey: 'ignored',
});
