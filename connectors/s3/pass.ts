import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isAhead } from '../core/odd-cursors.ts';
import { fileCursor } from '../files/file-portions.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import type { BucketFile } from './bucket.ts';

/** A file that was read: a hash of its key and entity tag, and when it was modified, in ms. */
const seen = z.tuple([z.string(), z.number()]);

/** One reading of all files under a prefix, in the order of their keys, and what is known of those before it. */
export const passCursor = z.object({
  isDone: z.boolean(),
  /** Files modified before are done, ms; those since then unless they are in `done`. Null: none is. */
  since: z.number().nullable(),
  done: z.array(seen),
  /**
   * Files of this pass and earlier ones, the last modified, and when the last of those was modified that there was no
   * room for.
   */
  next: z.array(seen),
  dropped: z.number().nullable(),
  /** The last key that is through, and where reading the one behind it goes on. */
  after: z.string().nullable(),
  key: z.string().nullable(),
  file: fileCursor.nullable(),
});

export type Pass = z.output<typeof passCursor>;

export const FIRST_PASS: Pass = {
  isDone: false,
  since: null,
  done: [],
  next: [],
  dropped: null,
  after: null,
  key: null,
  file: null,
};

/** They stand in each cursor. */
const MAX_SEEN = 1_000;
/** A file may be seen so much later than it says it was modified: one that is put in parts tells when that began. */
const LATE_MS = DAY_MS;
/** After this, no file of the same second comes any more. */
const SETTLED_MS = HOUR_MS;

export function isDue({ since, done }: Pass, file: BucketFile): boolean {
  if (since === null) return true;
  const hash = hashOf(file);
  return file.modifiedMs >= since && !done.some(([known]) => known === hash);
}

/** Behind a file, that is remembered for the passes to come. */
export function behind(pass: Pass, file: BucketFile): Pass {
  const hash = hashOf(file);
  const known: Pass['next'] = [...pass.next.filter(([other]) => other !== hash), [hash, file.modifiedMs]];
  const next = known.length > MAX_SEEN ? known.toSorted(([, a], [, b]) => b - a) : known;
  const dropped = next.slice(MAX_SEEN).map(([, modifiedMs]) => modifiedMs);
  return {
    ...pass,
    after: file.key,
    key: null,
    file: null,
    next: next.slice(0, MAX_SEEN),
    dropped: dropped.length === 0 ? pass.dropped : Math.max(pass.dropped ?? 0, ...dropped),
  };
}

/** A pass whose `since` is ahead of the clock would find nothing new: it begins again with all files. */
export const unstuck = (pass: Pass, nowMs: number): Pass =>
  isAhead(pass.since ?? 0, nowMs) ? { ...pass, since: null } : pass;

/** The end of a pass, and so the beginning of the next. Files that are dated ahead are remembered, and move nothing. */
export function settled({ since: before, next, dropped }: Pass, nowMs: number): Pass {
  const newest = Math.max(
    0,
    ...next.map(([, modifiedMs]) => modifiedMs).filter((modifiedMs) => !isAhead(modifiedMs, nowMs)),
  );
  const full = dropped === null || isAhead(dropped, nowMs) ? 0 : dropped + (dropped < nowMs - SETTLED_MS ? 1 : 0);
  const since = Math.max(before ?? 0, newest - LATE_MS, full);
  const kept = next.filter(([, modifiedMs]) => modifiedMs >= since);
  return { ...FIRST_PASS, isDone: true, since, done: kept, next: kept };
}

function hashOf({ key, etag }: BucketFile): string {
  return createHash('sha256').update(`${key}\n${etag}`).digest('base64url').slice(0, 12);
}
