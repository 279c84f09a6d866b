import { hash, verify } from '@node-rs/argon2';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const ARGON2ID = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Hash of an unknown password, made with ARGON2ID: unknown accounts take as long as known ones. */
const NOBODY = '$argon2id$v=19$m=19456,t=2,p=1$mtolDWJg7K5iWd6FcuWnGw$pyyUe1fTTe9GGOIo9EgAHdx2Ny/3Z2FoCj0zRTb1iCU';

export function hashPassword(password: string): Promise<string> {
  return hash(password, ARGON2ID);
}

/** Returns whether the password is the account's; `null` stands for a missing account, and takes the same time. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  const isRight = await verify(passwordHash ?? NOBODY, password);
  return isRight && passwordHash !== null;
}
