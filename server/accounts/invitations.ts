import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { countInvitations, deleteInvitation, listInvitations, resendInvitation } from '../../store/accounts/invitations.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { identifier, linkToken, name, PASSWORD_CHARS, text } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { countAttempt } from './count-attempt.ts';
import { InvitationRecord, showInvitation } from './invitation-record.ts';

/** Who is invited into the caller's entity and has not accepted yet. */
const SHARED = { tag: 'Users', role: 'admin' } as const;
const PATH = '/api/invitations';
const ONE = `${PATH}/:invitation_id`;
const NOT_FOUND = 'Invitation not found';

const params = z.object({ invitation_id: identifier });

const listOpen = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the invitations that are not accepted yet',
  query: z.object(pageQuery),
  result: pageOf(InvitationRecord),
  async handle({ query, caller: { entityId } }, { db, settings }) {
    const invitations = await listInvitations(db, entityId, rowsOf(query));
    return showPage(settings, PATH, query, await countInvitations(db, entityId), invitations.map(showInvitation));
  },
});

const sendAgain = route({
  ...SHARED,
  method: 'POST',
  path: `${ONE}/send`,
  summary: 'Mail an invitation again',
  description: 'With a new link, which works for 24 hours; the one before ends.',
  params,
  result: InvitationRecord,
  async handle({ params: { invitation_id }, keepReply, ...who }, { db }) {
    const { entityId } = who.caller;
    await countAttempt(db, { kind: 'invitations of an entity', name: String(entityId) });
    return write(db, async (tx) => {
      const invitation = await resendInvitation(tx, entityId, invitation_id) ?? refuse(404, 'not_found', NOT_FOUND);
      await audit(tx, who, { action: 'update', subjectKind: 'invitation', subject: invitation.identifier, details: { changed: 'mail' } });
      return keepReply(tx, showInvitation(invitation));
    });
  },
});

const withdraw = route({
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Withdraw an invitation',
  description: 'Its link opens nothing any more.',
  params,
  async handle({ params: { invitation_id }, ...who }, { db }) {
    await write(db, async (tx) => {
      const invitation = await deleteInvitation(tx, who.caller.entityId, invitation_id) ?? refuse(404, 'not_found', NOT_FOUND);
      await audit(tx, who, { action: 'delete', subjectKind: 'invitation', subject: invitation.identifier });
    });
    return noResult();
  },
});

const accept = route({
  method: 'POST',
  path: `${PATH}/accept`,
  summary: 'Accept an invitation',
  description: 'By the token of its link. An account that exists proves itself by its password, and wrong ones count as failed logins; for '
    + 'a new account the password is set. Then log in.',
  tag: 'Users',
  auth: 'none',
  body: z.object({
    token: linkToken,
    password: text({ max: PASSWORD_CHARS }).describe('The one in force, or for a new account one of at least 8 characters'),
    first_name: name.optional().describe('Of a new account'),
    last_name: name.optional().describe('Of a new account'),
  }),
  result: z.object({ email: z.string(), entity: z.object({ name: z.string() }) }),
  async handle({ body: { token, password, first_name: firstName, last_name: lastName }, address }, { db }) {
    const { email, entityName } = await acceptInvitation(db, { token, password, firstName, lastName, address });
    return { email, entity: { name: entityName } };
  },
});

export const invitationRoutes: Route[] = [listOpen, sendAgain, withdraw, accept];
