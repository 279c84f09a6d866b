import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import {
  CAMPAIGN_STATUSES,
  CAMPAIGN_TRANSITIONS,
  type CampaignChange,
  isDraft,
  mayChange,
  STATUS_NAMES,
} from '../../../domain/campaigns/campaign-status.ts';

const OPEN = ['scheduled', 'wait_sync', 'ongoing'];
const ENDED = ['finished', 'failed', 'canceled'];

it('only a draft is launched, edited or deleted; only a launched campaign that has not ended is canceled, or fails', () => {
  const those = (change: CampaignChange) => CAMPAIGN_STATUSES.filter((status) => mayChange(status, change)).sort();
  expect(those('launch')).toEqual(['draft']);
  expect(CAMPAIGN_STATUSES.filter(isDraft)).toEqual(['draft']);
  expect(those('cancel')).toEqual([...OPEN].sort());
  expect(those('fail')).toEqual([...OPEN].sort());
  expect(those('end')).toEqual(['ongoing']);
});

it('every status is reached from draft, and an ended campaign never changes again', () => {
  const reached = new Set<string>(['draft']);
  for (const { from, to } of [...CAMPAIGN_TRANSITIONS, ...CAMPAIGN_TRANSITIONS]) if (reached.has(from)) reached.add(to);
  expect([...reached].sort()).toEqual([...CAMPAIGN_STATUSES].sort());
  expect(CAMPAIGN_TRANSITIONS.filter(({ from }) => ENDED.includes(from))).toEqual([]);
  expect(Object.keys(STATUS_NAMES).sort()).toEqual([...CAMPAIGN_STATUSES].sort());
});

it('the diagram in docs/campaigns.md shows the transitions', async () => {
  const page = await readFile(new URL('../../../docs/campaigns.md', import.meta.url), 'utf8');
  const arrows = CAMPAIGN_TRANSITIONS.map(({ from, change, to }) => `    ${from} --> ${to}: ${change}`);
  const ends = ENDED.map((status) => `    ${status} --> [*]`);
  expect(page).toContain(
    ['```mermaid', 'stateDiagram-v2', '    [*] --> draft: create', ...arrows, ...ends, '```'].join('\n'),
  );
});
