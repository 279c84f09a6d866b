import { about, call, type LifeOperations, make, read, remove } from '../life-operation.ts';
import { ADMIN } from '../service.ts';

/** Users, invitations, tokens, entities and the audit log. Links of mails are not followed: theirs are drawn. */

const noLink = () => ({ params: { token: 'no-link-of-ours' } });

export const accountOperations: LifeOperations = {
  login: {
    call: ({ entity }) => ({ body: { ...ADMIN, entity: entity.identifier } }),
    expects: 'ok',
    done({ result }, { entity }) {
      entity.add('session', { id: (result as { auth_token: string }).auth_token });
    },
  },
  logout: {
    ...remove('session'),
    call(draw) {
      const item = draw.spare('session');
      item.isGone = true;
      return { item, headers: { authorization: `Token ${item.id}` } };
    },
  },
  openSession: {
    call: ({ entity }) => ({
      body: { ...ADMIN, entity: entity.identifier },
      headers: { 'sec-fetch-site': 'same-origin', 'x-millrace-console': '1' },
    }),
    expects: 'ok',
  },
  viewSession: { call: () => ({}), expects: 'ok' },
  switchSession: call((draw) => {
    const item = draw.spare('session');
    return { item, headers: { authorization: `Token ${item.id}` }, body: { entity: draw.entity.identifier } };
  }),
  endSession: {
    ...remove('session'),
    call(draw) {
      const item = draw.spare('session');
      item.isGone = true;
      return { item, headers: { authorization: `Token ${item.id}` } };
    },
  },
  viewUser: read('user'),
  inviteUser: make({ kind: 'invitation', id: ({ identifier }: { identifier: string }) => identifier }, (draw) => ({
    body: { email: `colleague-${draw.life.nextOrdinal()}@example.com`, enable: { sor_manage: true } },
  })),
  updateUser: about('user', () => ({ body: { first_name: 'Ada', enable: { comments: true } } })),
  // The only user is the one of the walk, and may not remove themselves.
  removeUser: about('user'),
  changeOwnPassword: call(() => ({ body: { password: 'not the password', new_password: 'another password' } })),
  mailPasswordReset: about('user'),
  resendInvitation: about('invitation'),
  withdrawInvitation: remove('invitation'),
  acceptInvitation: call(() => ({
    body: { token: 'no-link-of-ours', password: 'long enough', first_name: 'Ada', last_name: 'B' },
  })),
  requestPasswordReset: call(() => ({ body: { email: ADMIN.email } })),
  resetPassword: call(() => ({ body: { token: 'no-link-of-ours', password: 'long enough' } })),
  openInvitationPage: call(noLink),
  submitInvitationPage: call(() => ({
    ...noLink(),
    body: { password: 'long enough', first_name: 'Ada', last_name: '' },
  })),
  submitForgottenPasswordPage: call(() => ({ body: { email: ADMIN.email } })),
  openPasswordResetPage: call(noLink),
  submitPasswordResetPage: call(() => ({ ...noLink(), body: { password: 'long enough' } })),
  createServiceToken: make({ kind: 'service token' }, (draw) => ({
    body: { name: draw.name('Load'), rights: ['sor_manage'], expires_in_days: 30 },
  })),
  revokeServiceToken: remove('service token'),
  viewEntity: read('entity'),
  createEntity: make({ kind: 'spare entity' }, (draw) => ({ body: { name: draw.name('Spare') } })),
  updateEntity: about('entity', (draw) => ({ body: { description: draw.name('Described') } })),
  deleteEntity: remove('spare entity'),
};
