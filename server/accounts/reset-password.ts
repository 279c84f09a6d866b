/** Resets a forgotten password by a mailed link. */
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
import { networkOf } from '../http/upload-budget.ts';
import { countAttempt, isWithinLimit, refuseLink, withPasswordByLink } from './passwords.ts';

/** Requests a link. The sweep looks the account up, so that known and unknown addresses take the same time here. */
export async function askForReset(db: Database, { email, address }: { email: string; address: string }): Promise<void> {
  await countAttempt(db, { kind: 'resets asked from an address', name: networkOf(address) });
  if (!(await isWithinLimit(db, { kind: 'resets of an address of mail', name: email.toLowerCase() }))) return;
  await insertPasswordReset(db, { email, address });
}

/** Sets the password of an open link's account. Ends all its sessions and all its other links. */
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
