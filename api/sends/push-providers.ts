/** The providers of an app's pushes, one for each platform. */

import { z } from 'zod';
import { PUSH_DAY_OUTCOMES, type PushDayOutcome, WAIT_REASONS, type WaitReason } from '../../domain/sends/attempt.ts';
import { PUSH_PLATFORMS } from '../../domain/sends/push.ts';
import { identifier, jsonObject, pageNumber, stored } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Push providers', right: 'push_certificates_manage' } as const;
const ONE = '/api/apps/:app_identifier/push_providers/:platform';

const platform = z.enum(PUSH_PLATFORMS, { error: `must be one of ${PUSH_PLATFORMS.join(', ')}` });
const MAX_SETTINGS_BYTES = 64 * 1024;
const params = z.object({ app_identifier: identifier, platform });

export const PushProvider = z
  .object({
    platform: z.enum(PUSH_PLATFORMS),
    provider: z.string().describe('sandbox, fcm, apns or web_push'),
    settings: z.record(z.string(), z.unknown()).describe('A secret shows as { "set": true } or { "set": false }'),
    updated_at: z.iso.datetime().nullable().describe('null: none was ever set, and the sandbox is the default'),
  })
  .meta({ id: 'PushProvider' });
export type PushProvider = z.output<typeof PushProvider>;

const PushFinding = z
  .object({
    severity: z.enum(['error', 'warning']),
    field: z.string().describe('The member to change, of the settings or of the app'),
    message: z.string(),
  })
  .meta({ id: 'PushFinding' });

export const PushCheck = z
  .object({
    platform: z.enum(PUSH_PLATFORMS),
    provider: z.string(),
    ok: z.boolean().describe('No finding is an error'),
    findings: z.array(PushFinding),
  })
  .meta({ id: 'PushCheck' });
export type PushCheck = z.output<typeof PushCheck>;

export const viewPushProvider = operation({
  id: 'viewPushProvider',
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: "View an app's push provider for a platform, without its secrets",
  params,
  result: PushProvider,
});

/** A setting that affects who receives personal data. */
export const ENDPOINT = 'settings.endpoint';

export const updatePushProvider = operation({
  id: 'updatePushProvider',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: "Choose an app's push provider for a platform",
  description:
    'Replaces the settings. Secrets that are left out, or sent as { "set": true }, stay; null takes one away. ' +
    'Nothing is sent: POST /api/apps/<app_identifier>/push_check says what is wrong.',
  audits: 'update push_provider',
  rightsByField: { [ENDPOINT]: 'gdpr_data_manage' },
  params,
  body: z.object({
    provider: identifier.describe('sandbox, fcm, apns (ios) or web_push (web)'),
    settings: jsonObject(stored(MAX_SETTINGS_BYTES, z.record(z.string(), z.unknown()))).default({}),
  }),
  result: PushProvider,
});

export const deletePushProvider = operation({
  id: 'deletePushProvider',
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Go back to the sandbox, and delete settings and secrets',
  description: 'The VAPID keys of Web Push stay: the subscriptions of browsers are valid only with them.',
  audits: 'delete push_provider',
  params,
});

export const checkPush = operation({
  id: 'checkPush',
  ...SHARED,
  method: 'POST',
  path: '/api/apps/:app_identifier/push_check',
  summary: "Find what is wrong with an app's push providers",
  description: 'Asks each provider whether it takes the credentials. No device gets anything.',
  audits: 'check push_provider',
  params: params.pick({ app_identifier: true }),
  body: z.object({ platform: platform.optional().describe('By default each') }),
  result: z.object({ platforms: z.array(PushCheck) }),
});

const MAX_DAYS = 400;
const MAX_WAITING = 10_000;
const MAX_OUTCOMES = 5_000;
/** Bounds of the lists in the answer. */
export const PUSH_OUTCOME_BOUNDS = { waiting: MAX_WAITING, outcomes: MAX_OUTCOMES };

const PushDay = z
  .object({
    day: z.iso.date(),
    provider: z.string(),
    outcome: z.enum(Object.keys(PUSH_DAY_OUTCOMES) as [PushDayOutcome]),
    code: z.string().nullable().describe('Of a refusal: the code of the provider, if it gave one'),
    reason: z.string().describe('Meaning of the outcome'),
    pushes: z.int(),
  })
  .meta({ id: 'PushDay' });

const WaitingPushes = z
  .object({
    reason: z.enum(Object.keys(WAIT_REASONS) as [WaitReason]),
    meaning: z.string(),
    pushes: z.int(),
    next_at: z.iso.datetime().nullable().describe('When the first of them is due; null: some are leaving'),
  })
  .meta({ id: 'WaitingPushes' });

const PushDevices = z
  .object({
    devices: z.int().describe('All: the sum of the others'),
    reachable: z.int().describe('They have a push token and have not turned pushes off'),
    turned_off: z.int(),
    without_token: z.int(),
    uninstalled: z.int(),
  })
  .meta({ id: 'PushDevices' });

export const PushOutcomes = z
  .object({
    platform: z.enum(PUSH_PLATFORMS).describe('Of the app'),
    provider: z.string().describe('The provider of this platform now'),
    since: z.iso.date().describe('The first day'),
    as_of: z.iso.datetime().nullable().describe('Days count what happened until then; null: nothing is counted yet'),
    days: z
      .array(PushDay)
      .describe(`Newest first, at most ${MAX_OUTCOMES.toLocaleString('en')}. Tests of campaigns do not count`),
    refused: z
      .object({ provider: z.string(), code: z.string(), since: z.iso.datetime() })
      .meta({ id: 'RefusingProvider' })
      .nullable()
      .describe('The provider has refused each push since then; null: it has not'),
    waiting: z.array(WaitingPushes).describe('Pushes that wait now'),
    waiting_is_more: z
      .boolean()
      .describe(`True: more wait than the ${MAX_WAITING.toLocaleString('en')} that are counted`),
    devices: PushDevices,
  })
  .meta({ id: 'PushOutcomes' });
export type PushOutcomes = z.output<typeof PushOutcomes>;

export const viewPushOutcomes = operation({
  id: 'viewPushOutcomes',
  ...SHARED,
  method: 'GET',
  path: '/api/apps/:app_identifier/push_outcomes',
  summary: "Count what the provider said of an app's pushes, by day and code",
  description:
    'Counts alone: what waits now, and which devices a push reaches. Days are those of the messages, in UTC.',
  params: params.pick({ app_identifier: true }),
  query: z.object({
    days: pageNumber({ min: 1, max: MAX_DAYS, otherwise: 30 }).describe(
      `Number of days up to today, from 1 to ${MAX_DAYS}`,
    ),
  }),
  result: PushOutcomes,
});
