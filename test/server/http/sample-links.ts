import { insertInvitation } from '../../../store/accounts/invitations.ts';
import { insertPasswordReset } from '../../../store/accounts/password-resets.ts';
import type { User } from '../../../store/accounts/users.ts';
import type { Tx } from '../../../store/core/database.ts';
import { newToken } from '../../../store/core/identifiers.ts';
import { beginMail } from '../../../store/core/mails.ts';
import { tokenHash } from '../../../store/core/secrets.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import type { World } from '../../harness/core/world.ts';

/**
 * An invitation of somebody without an account, and a link that resets the colleague's password; both as if they had
 * been mailed.
 */
export type SampleLinks = { invitationId: string; invitedEmail: string; invitationToken: string; resetToken: string };

export async function insertSampleLinks(tx: Tx, { entity, user }: World, colleague: User): Promise<SampleLinks> {
  const [invitationToken, resetToken] = [newToken(), newToken()];
  for (const token of [invitationToken, resetToken]) rememberSecret(token);
  const invitedEmail = `invited-${entity.id}@example.com`;
  const asked = { email: invitedEmail, rights: [], admin: false, superadmin: false, invitedBy: user.id };
  const { id, identifier: invitationId } = (await insertInvitation(tx, entity.id, asked))!;
  await beginMail(tx, { table: 'invitations', entityId: entity.id, id, tokenHash: tokenHash(invitationToken) }, 1);
  await insertPasswordReset(tx, { email: colleague.email, userId: colleague.id });
  const { rows } = await tx.query<{ id: number }>('SELECT id FROM password_resets WHERE user_id = $1', [colleague.id]);
  await beginMail(tx, { table: 'password_resets', id: rows[0]!.id, tokenHash: tokenHash(resetToken) }, 1);
  return { invitationId, invitedEmail, invitationToken, resetToken };
}
