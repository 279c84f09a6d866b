import { randomBytes } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RIGHTS } from '../domain/accounts/rights.ts';
import { isTimeZone } from '../domain/core/time-zone.ts';
import { hashPassword } from '../server/accounts/passwords.ts';
import { insertEntity } from '../store/accounts/entities.ts';
import { hasUsers, insertMembership, insertUser } from '../store/accounts/users.ts';
import { write } from '../store/core/database.ts';
import { makeFolder } from '../store/core/make-folder.ts';
import type { AppContext } from './app-context.ts';

/** The first user as made by this start; `password` only when it was drawn here, and then this once. */
export type FirstUser = { email: string; password: string | null; passwordPath: string | null };

const FIRST_ENTITY = 'Millrace';
/** Among processes that start together, one makes the first user. */
const FIRST_USER_LOCK = 5_717_023_442;

/** On a database without users: one entity, and a superadmin with every right. Null when somebody is there already. */
export async function ensureFirstUser({ config, db, secrets }: AppContext): Promise<FirstUser | null> {
  if (await hasUsers(db)) return null;
  const defaultTz = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const email = config.MILLRACE_ADMIN_EMAIL;
  const password = config.MILLRACE_ADMIN_PASSWORD ?? randomBytes(15).toString('base64url');
  const passwordHash = await hashPassword(password);
  const isMade = await write(db, async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [FIRST_USER_LOCK]);
    if (await hasUsers(tx)) return false;
    const entity = await insertEntity(
      tx,
      secrets,
      FIRST_ENTITY,
      isTimeZone(defaultTz) ? { defaultTz } : { defaultTz: 'UTC' },
    );
    const user = await insertUser(tx, { email, passwordHash, superadmin: true, preferedEntityId: entity.id });
    await insertMembership(tx, { userId: user.id, entityId: entity.id, rights: [...RIGHTS], admin: true });
    return true;
  });
  if (!isMade) return null;
  if (config.MILLRACE_ADMIN_PASSWORD) return { email, password: null, passwordPath: null };
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  await makeFolder(dirname(passwordPath));
  await writeFile(passwordPath, `${password}\n`, { mode: 0o600 });
  await chmod(passwordPath, 0o600);
  return { email, password, passwordPath };
}
