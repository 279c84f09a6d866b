import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { lockUser } from '../../store/accounts/members.ts';
import {
  deletePasswordResetsOf,
  findResetUser,
  insertPasswordReset,
  takePasswordReset,
} from '../../store/accounts/password-resets.ts';
import { deleteTokensOf } from '../../store/accounts/tokens.ts';
import { findUser, listEntityIdsOf, updateUser } from '../../store/accounts/users.ts';
import { type Database, type Tx, write } from '../../store/core/database.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { networkOf } from '../http/network-of.ts';
import { countAttempt, isWithinLimit } from './count-attempt.ts';
import { refuseLink, withPasswordByLink } from './password-by-link.ts';

/**
 * Writes down that a link is wanted for the account of an address. The sweep finds out whether there is one: here,
 * known and unknown addresses take the same work. Beyond the limit of an address the answer is the same, and no mail
 * goes.
 */
export async function askForReset(db: Database, { email, address }: { email: string; address: string }): Promise<void> {
  await countAttempt(db, { kind: 'resets asked from an address', name: networkOf(address) });
  if (!(await isWithinLimit(db, { kind: 'resets of an address of mail', name: email.toLowerCase() }))) return;
  await insertPasswordReset(db, { email, address });
}

/** Sets the password of the account that an open link belongs to. It ends all its sessions, and all its other links. */
export async function confirmReset(
  db: Database,
  { token, password, address }: { token: string; password: string; address: string },
): Promise<void> {
  const link = tokenHash(token);
  const userId = (await findResetUser(db, link)) ?? refuseLink();
  await withPasswordByLink(db, { link, address, password }, (passwordHash) =>
    write(db, async (tx) => {
      await lockUser(tx, userId);
      if (!(await takePasswordReset(tx, userId, link))) refuseLink();
      await updateUser(tx, userId, { passwordHash });
      await deleteTokensOf(tx, userId);
      await deletePasswordResetsOf(tx, userId);
      await auditReset(tx, userId, address);
    }),
  );
}

/** An account is the same in all its entities: each gets an audit entry. */
async function auditReset(tx: Tx, userId: number, address: string): Promise<void> {
  const user = (await findUser(tx, userId))!;
  for (const entityId of await listEntityIdsOf(tx, userId)) {
    await insertAuditEntry(tx, entityId, {
      actorKind: 'user',
      actorId: userId,
      address,
      action: 'accept',
      subjectKind: 'password_reset',
      subject: user.uid,
    });
  }
}
