/** Parts of a person's page and kinds of its timeline, each with the right that it needs; ways to find a person. */

import type { Right } from '../accounts/rights.ts';
import { HOUR_MS } from '../time/durations.ts';

/** How long a look at a person lets its caller read on without a further audit entry. */
export const LOOK_MS = HOUR_MS;

export const PERSON_PARTS = {
  identifiers: 'usage_analytics_view',
  devices: 'usage_analytics_view',
  events: 'usage_analytics_view',
  sessions: 'usage_analytics_view',
  segments: 'segments_view',
  attributes: 'sor_manage',
  messages: 'campaign_view',
  requests: 'gdpr_data_manage',
  holds: 'gdpr_data_manage',
  erasure: 'gdpr_data_manage',
} as const satisfies Record<string, Right>;

export type PersonPart = keyof typeof PERSON_PARTS;

/** Entries of one moment stand in this order. */
export const TIMELINE_KINDS = {
  request: 'gdpr_data_manage',
  message: 'campaign_view',
  attribute: 'sor_manage',
  session: 'usage_analytics_view',
  event: 'usage_analytics_view',
} as const satisfies Record<string, Right>;

export type TimelineKind = keyof typeof TIMELINE_KINDS;

/** Ways in which a text leads to a person. */
export const PERSON_MATCHES = ['user_id', 'device_id', 'similar_id', 'attribute'] as const;

export type PersonMatch = (typeof PERSON_MATCHES)[number];

/**
 * On whose word an id belongs to a person: `vouched`: a user token of the app's server; `confirmed`: staff; `claimed`:
 * an SDK.
 */
export const PERSON_ORIGINS = ['vouched', 'confirmed', 'claimed'] as const;

export type PersonOrigin = (typeof PERSON_ORIGINS)[number];
