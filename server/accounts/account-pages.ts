import { z } from 'zod';
import {
  acceptedPage, forgottenPage, invitationPage, linkOnItsWayPage, newPasswordPage, passwordSetPage,
} from '../../domain/accounts/account-page.ts';
import { findInvitationByToken } from '../../store/accounts/account-links-across-entities.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import { findResetUser } from '../../store/accounts/password-resets.ts';
import { findUserByEmail } from '../../store/accounts/users.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { htmlReply } from '../http/html-reply.ts';
import { email, linkToken, name, newPassword, PASSWORD_CHARS, text } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { refuseLink } from './password-by-link.ts';
import { askForReset, confirmReset } from './reset-password.ts';

/** Where mailed links lead. A refusal is a page for a browser, and JSON for anything else. */
const SHARED = { tag: 'Pages', auth: 'none', contentType: 'text/html' } as const;

const params = z.object({ token: linkToken });
/** A field of a form that a person left empty is none. */
const formName = z.preprocess((value) => (value === '' ? undefined : value), name.optional());

const openInvitation = route({
  ...SHARED,
  method: 'GET',
  path: '/invite/:token',
  summary: 'Show the form that accepts an invitation',
  description: 'To open it has no effect.',
  params,
  async handle({ params: { token } }, { db }) {
    const invitation = await findInvitationByToken(db, tokenHash(token)) ?? refuseLink();
    const [entityName, user] = [await findEntityName(db, invitation.entityId), await findUserByEmail(db, invitation.email)];
    return htmlReply(invitationPage({ ...invitation, entityName, hasAccount: user !== null }));
  },
});

const acceptByForm = route({
  ...SHARED,
  method: 'POST',
  path: '/invite/:token',
  summary: 'Submit the form that accepts an invitation',
  params,
  body: z.object({ password: text({ max: PASSWORD_CHARS }), first_name: formName, last_name: formName }),
  async handle({ params: { token }, body: { password, first_name: firstName, last_name: lastName }, address }, { db }) {
    return htmlReply(acceptedPage(await acceptInvitation(db, { token, password, firstName, lastName, address })));
  },
});

const openReset = route({
  ...SHARED,
  method: 'GET',
  path: '/reset/:token',
  summary: 'Show the form that sets a new password',
  description: 'To open it has no effect.',
  params,
  async handle({ params: { token } }, { db }) {
    if (await findResetUser(db, tokenHash(token)) === null) refuseLink();
    return htmlReply(newPasswordPage());
  },
});

const resetByForm = route({
  ...SHARED,
  method: 'POST',
  path: '/reset/:token',
  summary: 'Submit the form that sets a new password',
  params,
  body: z.object({ password: newPassword }),
  async handle({ params: { token }, body: { password }, address }, { db }) {
    await confirmReset(db, { token, password, address });
    return htmlReply(passwordSetPage());
  },
});

const openForgotten = route({
  ...SHARED,
  method: 'GET',
  path: '/reset',
  summary: 'Show the form that requests a password reset link',
  handle: async () => htmlReply(forgottenPage()),
});

const askByForm = route({
  ...SHARED,
  method: 'POST',
  path: '/reset',
  summary: 'Submit the form that requests a password reset link',
  body: z.object({ email }),
  async handle({ body, address }, { db }) {
    await askForReset(db, { email: body.email, address });
    return htmlReply(linkOnItsWayPage());
  },
});

export const accountPageRoutes: Route[] = [openInvitation, acceptByForm, openReset, resetByForm, openForgotten, askByForm];
