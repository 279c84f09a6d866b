import type { Needs } from '../needs.ts';
import type { Again } from '../again.ts';
import { endExportRun } from '../export-end.ts';
import { masked } from '../../connectors/masked.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { shorten } from '../../domain/text-limits.ts';
import { write } from '../../store/database.ts';
import type { ExporterSecrets } from '../../store/data-exporter-record.ts';
import { updateExportFault } from '../../store/export-run-progress.ts';
import { lockExportRun } from '../../store/export-runs.ts';
import type { RunKey } from '../../store/sync-runs.ts';

/** Tries in a row that got no further. What may pass by itself is waited for: with these waits for a day. */
const TRIES = { passing: 105, final: 3 };
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** What a bucket may ask for by itself. */
const LONGEST_ASKED_MS = 24 * 3_600_000;

/** Faults of a bucket that may go by themselves: for every other one somebody has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken']);

/** What a run keeps of what was said of it. */
const MOST_CHARS = 2_000;

/**
 * Tells how long to wait before the next try, or ends the run as failed, in words for its owner: then null. A no that is final is
 * asked for again twice, too: rights take a moment to spread.
 */
export async function waitOrFailExport(
  needs: Needs, key: RunKey, refusal: Refusal, secrets: ExporterSecrets | null,
): Promise<Again | null> {
  const message = shorten(masked(refusal.message, { ...secrets }), MOST_CHARS);
  const waiting = await write(needs.db, async (tx) => {
    const run = await lockExportRun(tx, key);
    if (!run) return 'gone';
    const tries = run.tries + 1;
    if (tries >= TRIES[PASSING.has(refusal.status) ? 'passing' : 'final']) return null;
    const againInMs = waitAfter(run.tries, refusal.extra.retry_after);
    await updateExportFault(tx, key, { tries, fault: message, waitsUntil: new Date(Date.now() + againInMs) });
    return { againInMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await endExportRun(needs, key, { failure: { status: String(refusal.status), message } });
  return waiting;
}

function waitAfter(tries: number, asked: unknown): number {
  if (typeof asked === 'number') return Math.min(Math.max(asked * 1_000, FIRST_WAIT_MS), LONGEST_ASKED_MS);
  return Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS);
}
