/** Pages of mailed links: accept an invitation, set a password. Mail scanners open them, too: that changes nothing. */
import * as api from '../../api/accounts/account-pages.ts';
import { escaped } from '../../domain/text/html.ts';
import { findInvitationByToken } from '../../store/accounts/account-links-across-entities.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import { findResetUser } from '../../store/accounts/password-resets.ts';
import { findUserByEmail } from '../../store/accounts/users.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { htmlPage, PAGE_HEADERS } from '../http/html-page.ts';
import { Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { refuseLink } from './passwords.ts';
import { askForReset, confirmReset } from './reset-password.ts';

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

function htmlReply(page: string): Reply {
  return new Reply(Buffer.from(page), 200, PAGE_HEADERS);
}

type InvitationView = {
  entityName: string;
  email: string;
  firstName: string;
  lastName: string;
  hasAccount: boolean;
};

function invitationPage({ entityName, email, firstName, lastName, hasAccount }: InvitationView): string {
  const fields = hasAccount
    ? [field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })]
    : [
        field({ name: 'first_name', label: 'First name', autocomplete: 'given-name', value: firstName }),
        field({ name: 'last_name', label: 'Last name', autocomplete: 'family-name', value: lastName }),
        newPasswordField(),
      ];
  const words = hasAccount
    ? 'To accept, confirm with the password of your account. <a href="../reset">I do not know it</a>'
    : 'To accept, choose a password for your account.';
  return htmlPage(`Invitation to ${entityName}`, [
    `<p>For <bdi>${escaped(email)}</bdi>. ${words}</p>`,
    form(fields, 'Accept'),
  ]);
}

function acceptedPage({ entityName, email }: { entityName: string; email: string }): string {
  return htmlPage(`Welcome to ${entityName}`, [`<p>You can log in now, as <bdi>${escaped(email)}</bdi>.</p>`]);
}

function newPasswordPage(): string {
  return htmlPage('A new password', [
    '<p>It ends all sessions of your account.</p>',
    form([newPasswordField()], 'Set the password'),
  ]);
}

function passwordSetPage(): string {
  return htmlPage('The new password is set', ['<p>You can log in with it now.</p>']);
}

function forgottenPage(): string {
  return htmlPage('Forgot the password?', [
    '<p>Name the e-mail address of your account, and a link to set a new password goes there.</p>',
    form([field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' })], 'Send the link'),
  ]);
}

function linkOnItsWayPage(): string {
  return htmlPage('Look into your mail', [
    '<p>If there is an account with this address, a link is on its way. It works once, for 24 hours. No more than three go there in an ' +
      'hour.</p>',
  ]);
}

type Field = { name: string; label: string; autocomplete: string; type?: string; value?: string; minlength?: number };

function newPasswordField(): string {
  const label = 'Password, at least 8 characters';
  return field({ name: 'password', label, type: 'password', autocomplete: 'new-password', minlength: 8 });
}

function field({ name, label, autocomplete, type = 'text', value = '', minlength }: Field): string {
  const required = type === 'text' ? '' : ' required';
  const least = minlength === undefined ? '' : ` minlength="${minlength}"`;
  const input = `<input name="${name}" type="${type}" autocomplete="${autocomplete}" value="${escaped(value)}"${least}${required}>`;
  return `<label>${label}${input}</label>`;
}

function form(fields: string[], button: string): string {
  return `<form method="post">\n${fields.join('\n')}\n<button>${button}</button>\n</form>`;
}
