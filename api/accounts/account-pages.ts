/** Pages that mailed links open. Browsers get refusals as a page, other clients as JSON. */
import { z } from 'zod';
import { email, linkToken, name, newPassword, PASSWORD_CHARS, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Pages', auth: 'none', contentType: 'text/html' } as const;
const params = z.object({ token: linkToken });

/** An empty field of a form counts as missing. */
const formName = z.preprocess((value) => (value === '' ? undefined : value), name.optional());

export const openInvitationPage = operation({
  id: 'openInvitationPage',
  ...SHARED,
  method: 'GET',
  path: '/invite/:token',
  summary: 'Show the form that accepts an invitation',
  description: 'Opening the page changes nothing.',
  params,
});

export const submitInvitationPage = operation({
  id: 'submitInvitationPage',
  ...SHARED,
  method: 'POST',
  path: '/invite/:token',
  summary: 'Submit the form that accepts an invitation',
  audits: 'accept invitation',
  params,
  body: z.object({ password: text({ max: PASSWORD_CHARS }), first_name: formName, last_name: formName }),
});

export const openPasswordResetPage = operation({
  id: 'openPasswordResetPage',
  ...SHARED,
  method: 'GET',
  path: '/reset/:token',
  summary: 'Show the form that sets a new password',
  description: 'Opening the page changes nothing.',
  params,
});

export const submitPasswordResetPage = operation({
  id: 'submitPasswordResetPage',
  ...SHARED,
  method: 'POST',
  path: '/reset/:token',
  summary: 'Submit the form that sets a new password',
  audits: 'accept password_reset',
  params,
  body: z.object({ password: newPassword }),
});

export const openForgottenPasswordPage = operation({
  id: 'openForgottenPasswordPage',
  ...SHARED,
  method: 'GET',
  path: '/reset',
  summary: 'Show the form that requests a password reset link',
});

export const submitForgottenPasswordPage = operation({
  id: 'submitForgottenPasswordPage',
  ...SHARED,
  method: 'POST',
  path: '/reset',
  summary: 'Submit the form that requests a password reset link',
  body: z.object({ email }),
});
