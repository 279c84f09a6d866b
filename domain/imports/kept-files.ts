import { refuse } from '../core/refusal.ts';

/** Bytes of the files of imports that may be kept at once: of one System of Record, and of all of an entity. */
export type KeptLimits = { bytesPerSor: number; bytesPerEntity: number };

/** Bytes of kept files, and when the first of them is deleted; null: none of their imports has ended. */
export type Kept = { bytes: number; freesAt: Date | null };
export type KeptFiles = { ofSor: Kept; ofEntity: Kept };

/** How soon to look again while none of the imports has ended. */
const RETRY_SECONDS = 60;

/**
 * Refuses `more` bytes that would bring what is kept beyond a limit. With 429 and not 413: the file may well be small, and has a place
 * once others are gone.
 */
export function refuseBeyond({ ofSor, ofEntity }: KeptFiles, { bytesPerSor, bytesPerEntity }: KeptLimits, more: number, now: Date): void {
  const [whose, { bytes, freesAt }, most] = ofSor.bytes + more > bytesPerSor
    ? ['this System of Record', ofSor, bytesPerSor] as const : ['the entity', ofEntity, bytesPerEntity] as const;
  if (bytes + more <= most) return;
  const free = freesAt === null ? 'none of them has ended yet' : `the first of them is deleted on ${freesAt.toISOString()}`;
  const seconds = freesAt === null ? RETRY_SECONDS : Math.max(Math.ceil((freesAt.getTime() - now.getTime()) / 1_000), 1);
  refuse(429, 'too_many_requests',
    `file: the files of the imports into ${whose} have ${bytes} bytes already, and may have ${most} in all: ${free}. Or cancel an import `
    + 'that has not ended: its file goes at once', { retry_after: seconds });
}
