import { beforeAll, describe, expect, it } from 'vitest';
import { workflowBundle } from '../../../runtime/workflow-bundle.ts';
import { BUNDLES } from '../../harness/core/bundles.ts';
import { keptHistories, readHistory, replay } from '../../harness/jobs/replays.ts';

const kept = await keptHistories();

describe('a run that began without traces', () => {
  /** How many spans a workflow gives when its history is gone through again. */
  const spans: Record<string, number> = {};
  let outcomes: Record<string, Error | undefined>;

  beforeAll(async () => {
    const count = {
      fn: ({ workflowId }: { workflowId: string }, given: unknown[]) => {
        spans[workflowId] = (spans[workflowId] ?? 0) + given.length;
      },
      callDuringReplay: true,
    };
    const histories: Record<string, string> = {};
    for (const file of kept) histories[file] = await readHistory(file);
    outcomes = await replay(histories, {
      workflowBundle: { codePath: await workflowBundle(BUNDLES, { traced: true }) },
      sinks: { exporter: { export: count } },
    });
  });

  it.for(kept)('goes on when they are turned on: %s', (file) => {
    expect(outcomes).toHaveProperty([file], undefined);
    expect(spans[file]).toBeGreaterThan(0);
  });
});
