/** Limits of the import files that are kept. */
import { refuse } from '../core/refusal.ts';

/** Maximum bytes of import files that are kept at once for one System of Records, and for a whole entity. */
export type KeptLimits = { bytesPerSor: number; bytesPerEntity: number };

/** Bytes of kept files, when the first is deleted, and bytes of uploads that are being received. */
export type Kept = { bytes: number; freesAt: Date | null; underWay?: number };
export type KeptFiles = { ofSor: Kept; ofEntity: Kept };

const RETRY_SECONDS = 60;

/** Refuses `more` bytes beyond a limit with 429, not 413: the file may be small, and fits once others are gone. */
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
