import { refuse } from '../core/refusal.ts';

/** Bytes of the files of imports that may be kept at once: of one System of Records, and of all of an entity. */
export type KeptLimits = { bytesPerSor: number; bytesPerEntity: number };

/**
 * Bytes of kept files, and when the first of them is deleted; null: none of their imports has ended. `underWay`: bytes
 * of uploads that are being received, the one that is looked at among them.
 */
export type Kept = { bytes: number; freesAt: Date | null; underWay?: number };
export type KeptFiles = { ofSor: Kept; ofEntity: Kept };

/** How soon to look again while none of the imports has ended. */
const RETRY_SECONDS = 60;

/**
 * Refuses `more` bytes that would bring what is kept beyond a limit. With 429 and not 413: the file may well be small,
 * and has a place once others are gone.
 */
export function refuseBeyond(
  { ofSor, ofEntity }: KeptFiles,
  { bytesPerSor, bytesPerEntity }: KeptLimits,
  more: number,
  now: Date,
): void {
  const [whose, { bytes, freesAt, underWay = 0 }, most, setting] =
    ofSor.bytes + (ofSor.underWay ?? 0) + more > bytesPerSor
      ? (['into this System of Records', ofSor, bytesPerSor, 'MILLRACE_KEPT_PER_SOR'] as const)
      : (['of the entity', ofEntity, bytesPerEntity, 'MILLRACE_KEPT_PER_ENTITY'] as const);
  if (bytes + underWay + more <= most) return;
  const until =
    freesAt === null ? 'and none of their imports has ended' : `the first of them until ${freesAt.toISOString()}`;
  const seconds =
    freesAt === null ? RETRY_SECONDS : Math.max(Math.ceil((freesAt.getTime() - now.getTime()) / 1_000), 1);
  refuse(
    429,
    'too_many_requests',
    `file: with this file, the files of the imports ${whose} would have over ${most} bytes (${setting}); ${bytes} are kept` +
      `${bytes === 0 ? '' : `, ${until}`}. Cancel an import that has not ended, or ask the operator for another figure`,
    { retry_after: seconds },
  );
}
