/** Pages that a mailed link opens: without scripts and token. Opening one changes nothing: mail scanners do it, too. */
import { escaped } from '../text/html.ts';

/** The style of all pages. The server allows it by its hash. */
export const PAGE_STYLE = `body{font:16px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff}
body{max-width:28rem;margin:3rem auto;padding:0 1rem}
label{display:block;margin:1rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{font:inherit;padding:.5rem 1.5rem}`;

export type InvitationView = {
  entityName: string;
  email: string;
  firstName: string;
  lastName: string;
  hasAccount: boolean;
};

export function invitationPage({ entityName, email, firstName, lastName, hasAccount }: InvitationView): string {
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
  return page(`Invitation to ${entityName}`, [
    `<p>For <bdi>${escaped(email)}</bdi>. ${words}</p>`,
    form(fields, 'Accept'),
  ]);
}

export function acceptedPage({ entityName, email }: { entityName: string; email: string }): string {
  return page(`Welcome to ${entityName}`, [`<p>You can log in now, as <bdi>${escaped(email)}</bdi>.</p>`]);
}

export function newPasswordPage(): string {
  return page('A new password', [
    '<p>It ends all sessions of your account.</p>',
    form([newPasswordField()], 'Set the password'),
  ]);
}

export function passwordSetPage(): string {
  return page('The new password is set', ['<p>You can log in with it now.</p>']);
}

export function forgottenPage(): string {
  return page('Forgot the password?', [
    '<p>Name the e-mail address of your account, and a link to set a new password goes there.</p>',
    form([field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' })], 'Send the link'),
  ]);
}

export function linkOnItsWayPage(): string {
  return page('Look into your mail', [
    '<p>If there is an account with this address, a link is on its way. It works once, for 24 hours. No more than three go there in an ' +
      'hour.</p>',
  ]);
}

export function refusedPage(message: string): string {
  return page('This did not work', [`<p>${escaped(message)}</p>`, '<p><a href="">Try again</a></p>']);
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

function page(title: string, parts: string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${parts.join('\n')}
</body>
</html>
`;
}
