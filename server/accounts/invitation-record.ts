import type * as api from '../../api/accounts/users.ts';
import type { Invitation } from '../../store/accounts/invitations.ts';
import { showRights } from './user-record.ts';

export function showInvitation(invitation: Invitation): api.Invitation {
  const { identifier, email, firstName, lastName, rights, admin, superadmin, invitedBy, createdAt, expiresAt, mail } =
    invitation;
  return {
    identifier,
    email,
    first_name: firstName,
    last_name: lastName,
    enable: showRights(new Set(rights)),
    admin,
    superadmin,
    invited_by: invitedBy,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    mail: { state: mail.state ?? 'waiting', reason: mail.reason },
  };
}
