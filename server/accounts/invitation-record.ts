import { z } from 'zod';
import type { Invitation } from '../../store/accounts/invitations.ts';
import { Enable, showRights } from './user-record.ts';

/** An invitation as the admins of the entity see it: what was asked for, and nothing of an account that may be there. */
export const InvitationRecord = z.object({
  identifier: z.string(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  enable: Enable,
  admin: z.boolean(),
  superadmin: z.boolean(),
  invited_by: z.int().describe('The id of a user'),
  created_at: z.string(),
  expires_at: z.string(),
  mail: z.object({ state: z.enum(['waiting', 'sending', 'sent', 'not_sent', 'unknown']), reason: z.string().nullable() }),
});

export function showInvitation(invitation: Invitation): z.input<typeof InvitationRecord> {
  const { identifier, email, firstName, lastName, rights, admin, superadmin, invitedBy, createdAt, expiresAt, mail } = invitation;
  return {
    identifier, email, first_name: firstName, last_name: lastName, enable: showRights(new Set(rights)), admin, superadmin,
    invited_by: invitedBy, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString(),
    mail: { state: mail.state ?? 'waiting', reason: mail.reason },
  };
}
