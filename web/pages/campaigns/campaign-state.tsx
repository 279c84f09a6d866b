/** The status and the type of a campaign in words. */
import {
  CAMPAIGN_STATUSES,
  type CampaignStatus,
  type CampaignType,
  STATUS_NAMES,
} from '../../../domain/campaigns/campaign-status.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';

const TONES: Record<CampaignStatus, Tone> = {
  draft: 'neutral',
  scheduled: 'info',
  wait_sync: 'info',
  ongoing: 'info',
  finished: 'ok',
  failed: 'bad',
  canceled: 'warn',
};

const WORDS: Record<CampaignStatus, string> = {
  draft: 'draft',
  scheduled: 'scheduled',
  wait_sync: 'finding its audience',
  ongoing: 'ongoing',
  finished: 'finished',
  failed: 'failed',
  canceled: 'canceled',
};

/** Returns the word of a status that a response shows as a name, such as `Wait sync`. */
export function statusOf(shown: string): CampaignStatus {
  return CAMPAIGN_STATUSES.find((status) => STATUS_NAMES[status] === shown) ?? 'draft';
}

export function CampaignState({ shown }: { shown: string }) {
  const status = statusOf(shown);
  return <Chip tone={TONES[status]}>{WORDS[status]}</Chip>;
}

export const statusWords = (status: CampaignStatus): string => WORDS[status];

export function isUnderWay(shown: string): boolean {
  return ['scheduled', 'wait_sync', 'ongoing'].includes(statusOf(shown));
}

/** Each type with when it sends, and what it lacks. */
export const TYPES: Record<CampaignType, { title: string; says: string; lacks: string }> = {
  classic: {
    title: 'Classic',
    says: 'To an audience, once',
    lacks: 'It has no values for placeholders but their defaults and those of profiles, and does not repeat.',
  },
  dynamic: {
    title: 'Dynamic',
    says: 'To people as they enter an audience, until its end',
    lacks: 'Its audience is not known before. It needs days, an end, and a limit for each person.',
  },
  transactional: {
    title: 'Transactional',
    says: 'To the user that each call names',
    lacks: 'It has no audience, no variants and no plan: your server sends its messages by POST /api/transac.',
  },
};

export function channelsText({
  includes_push: push,
  includes_inapp: inapp,
}: {
  includes_push: boolean;
  includes_inapp: boolean;
}): string {
  return [push ? 'push' : [], inapp ? 'in the app' : []].flat().join(' and ');
}
