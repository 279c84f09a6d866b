/** Sessions of people: login for a token (reference: Authentication), and the console's cookie. */
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

/** The session of a person, as the console shows it; without any key. */
export const ConsoleSession = z
  .object({
    user: z.object({ uid: z.string(), email: z.string(), full_name: z.string() }),
    entity: z.object({ id: z.int(), identifier: z.string(), name: z.string() }),
    entities: z
      .array(z.object({ id: z.int(), identifier: z.string(), name: z.string() }))
      .describe('The active entities of the user'),
    enable: Enable,
    admin: z.boolean(),
    superadmin: z.boolean(),
    now: z.iso.datetime().describe('The time by the clock of the server'),
    idle_at: z.iso.datetime().describe('When the session ends unless it is used'),
    ends_at: z.iso
      .datetime()
      .nullable()
      .describe('When the session ends, however busy it is; null for a token of a login'),
    temporal_ui: z
      .string()
      .nullable()
      .describe(
        "Temporal's page of a workflow is at <temporal_ui>/<workflow id>; null unless set and for a superadmin",
      ),
  })
  .meta({ id: 'ConsoleSession' });
export type ConsoleSession = z.output<typeof ConsoleSession>;

const SESSION = { tag: 'Session', path: '/api/session' } as const;
const entityOfSession = z.object({ entity: identifier.describe('Identifier of the entity') });

export const openSession = operation({
  id: 'openSession',
  ...SESSION,
  method: 'POST',
  summary: 'Log in to the console',
  description:
    'For pages of this server only: the response sets the cookie `__Host-millrace`, which counts for requests of the ' +
    'same origin. The session ends after 30 minutes without use, and after 12 hours. Use POST /api/login for a token.',
  audits: 'login session',
  auth: 'none',
  body: z.object({
    email: text({ max: EMAIL_CHARS }),
    password: text({ max: PASSWORD_CHARS }),
    entity: identifier.optional().describe('Identifier of the entity; by default the preferred one'),
  }),
  result: ConsoleSession,
});

export const viewSession = operation({
  id: 'viewSession',
  ...SESSION,
  method: 'GET',
  summary: 'Get the session: user, entity, rights, and when it ends',
  role: 'person',
  result: ConsoleSession,
});

export const switchSession = operation({
  id: 'switchSession',
  ...SESSION,
  method: 'PUT',
  summary: 'Make the session act in another entity of the user',
  description: 'A token of POST /api/login acts there from then on, too.',
  audits: ['login session', 'logout session'],
  role: 'person',
  body: entityOfSession,
  result: ConsoleSession,
});

export const endSession = operation({
  id: 'endSession',
  ...SESSION,
  method: 'DELETE',
  summary: 'Log out: end the session and its cookie',
  audits: 'logout session',
  role: 'person',
});
