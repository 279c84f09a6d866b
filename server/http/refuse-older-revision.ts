import { refuse } from '../../domain/core/refusal.ts';

/** Refuses a change of another revision than the stored one. Call it under the object's lock; undefined: no check. */
export function refuseOlderRevision(
  what: string,
  { identifier, revision }: { identifier: string; revision: number },
  given: number | undefined,
): void {
  if (given === undefined || given === revision) return;
  refuse(
    409,
    'conflict',
    `The ${what} ${identifier} has been changed since: it has revision ${revision}, and your change is of revision ` +
      `${given}. Get it again, make your change there, and send it with revision ${revision}`,
  );
}
