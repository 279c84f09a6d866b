/** The duplicate of a campaign: its name and its dates. */

import { DAY_MS } from '../time/durations.ts';
import { MAX_CODE_POINTS } from '../text/text-limits.ts';
import { CAMPAIGN_DAYS, type CampaignType } from './campaign-status.ts';

const MARK = ' (copy)';

function nameOfDuplicate(name: string): string {
  return `${Array.from(name)
    .slice(0, MAX_CODE_POINTS - MARK.length)
    .join('')}${MARK}`;
}

type Dates = { startDate: Date | null; endDate: Date | null };

const CAMPAIGN_MS = CAMPAIGN_DAYS * DAY_MS;

type Original = Dates & { name: string; type: CampaignType; createdAt: Date };

/** Returns what a duplicate has instead: the name with a mark, and dates without past ones. */
export function duplicateOf(campaign: Original, now: Date): Dates & { name: string } {
  return { name: nameOfDuplicate(campaign.name), ...datesOfDuplicate(campaign, now) };
}

/** A dynamic duplicate needs an end: its period is as long as before, from now on. */
function datesOfDuplicate({ type, startDate, endDate, createdAt }: Omit<Original, 'name'>, now: Date): Dates {
  const isAhead = endDate !== null && endDate > now;
  if (startDate !== null && startDate > now) {
    return { startDate, endDate: isAhead ? endDate : new Date(startDate.getTime() + CAMPAIGN_MS) };
  }
  const length = endDate === null ? CAMPAIGN_MS : endDate.getTime() - (startDate ?? createdAt).getTime();
  if (type === 'dynamic') return { startDate: null, endDate: isAhead ? endDate : new Date(now.getTime() + length) };
  const isDefault = startDate !== null && length === CAMPAIGN_MS;
  return { startDate: null, endDate: isAhead && !isDefault ? endDate : null };
}
