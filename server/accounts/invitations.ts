/** The routes of invitations: list, mail again, withdraw, accept. */
import * as api from '../../api/accounts/invitations.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { deleteInvitation, listInvitations, resendInvitation } from '../../store/accounts/invitations.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { showInvitation } from './account-records.ts';
import { countAttempt } from './passwords.ts';

const NOT_FOUND = 'Invitation not found';

const listOpen = route(api.listInvitations, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { items, total } = await listInvitations(db, entityId, rowsOf(query));
  return showPage(settings, api.listInvitations.path, query, total, items.map(showInvitation));
});

const resend = route(api.resendInvitation, async ({ params: { invitation_id }, keepReply, ...who }, { db }) => {
  const { entityId } = who.caller;
  await countAttempt(db, { kind: 'invitations of an entity', name: String(entityId) });
  return write(db, async (tx) => {
    const invitation = (await resendInvitation(tx, entityId, invitation_id)) ?? refuse(404, 'not_found', NOT_FOUND);
    await audit(tx, who, {
      action: 'update',
      subjectKind: 'invitation',
      subject: invitation.identifier,
      details: { changed: 'mail' },
    });
    return keepReply(tx, showInvitation(invitation));
  });
});

const withdraw = route(api.withdrawInvitation, async ({ params: { invitation_id }, ...who }, { db }) => {
  await write(db, async (tx) => {
    const invitation =
      (await deleteInvitation(tx, who.caller.entityId, invitation_id)) ?? refuse(404, 'not_found', NOT_FOUND);
    await audit(tx, who, { action: 'delete', subjectKind: 'invitation', subject: invitation.identifier });
  });
  return noResult();
});

const accept = route(
  api.acceptInvitation,
  async ({ body: { token, password, first_name: firstName, last_name: lastName }, address }, { db }) => {
    const { email, entityName } = await acceptInvitation(db, { token, password, firstName, lastName, address });
    return { email, entity: { name: entityName } };
  },
);

export const invitationRoutes: Route[] = [listOpen, resend, withdraw, accept];
