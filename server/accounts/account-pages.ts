/** Pages of mailed links: accept an invitation, set a password. */
import * as api from '../../api/accounts/account-pages.ts';
import {
  acceptedPage,
  forgottenPage,
  invitationPage,
  linkOnItsWayPage,
  newPasswordPage,
  passwordSetPage,
} from '../../domain/accounts/account-page.ts';
import { findInvitationByToken } from '../../store/accounts/account-links-across-entities.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import { findResetUser } from '../../store/accounts/password-resets.ts';
import { findUserByEmail } from '../../store/accounts/users.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { htmlReply } from '../http/html-reply.ts';
import { type Route, route } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { askForReset, confirmReset } from './reset-password.ts';
import { refuseLink } from './passwords.ts';

const openInvitation = route(api.openInvitationPage, async ({ params: { token } }, { db }) => {
  const invitation = (await findInvitationByToken(db, tokenHash(token))) ?? refuseLink();
  const [entityName, user] = [
    await findEntityName(db, invitation.entityId),
    await findUserByEmail(db, invitation.email),
  ];
  return htmlReply(invitationPage({ ...invitation, entityName, hasAccount: user !== null }));
});

const acceptByForm = route(
  api.submitInvitationPage,
  async ({ params: { token }, body: { password, first_name: firstName, last_name: lastName }, address }, { db }) => {
    return htmlReply(acceptedPage(await acceptInvitation(db, { token, password, firstName, lastName, address })));
  },
);

const openReset = route(api.openPasswordResetPage, async ({ params: { token } }, { db }) => {
  if ((await findResetUser(db, tokenHash(token))) === null) refuseLink();
  return htmlReply(newPasswordPage());
});

const resetByForm = route(
  api.submitPasswordResetPage,
  async ({ params: { token }, body: { password }, address }, { db }) => {
    await confirmReset(db, { token, password, address });
    return htmlReply(passwordSetPage());
  },
);

const openForgotten = route(api.openForgottenPasswordPage, async () => htmlReply(forgottenPage()));

const askByForm = route(api.submitForgottenPasswordPage, async ({ body, address }, { db }) => {
  await askForReset(db, { email: body.email, address });
  return htmlReply(linkOnItsWayPage());
});

export const accountPageRoutes: Route[] = [
  openInvitation,
  acceptByForm,
  openReset,
  resetByForm,
  openForgotten,
  askByForm,
];
