/** The route of what providers said of an app's pushes. */

import * as api from '../../api/sends/push-providers.ts';
import { PUSH_DAY_OUTCOMES, WAIT_REASONS } from '../../domain/sends/attempt.ts';
import { PLATFORM_OF } from '../../domain/sends/push.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { countPushDevices } from '../../store/apps/app-figures.ts';
import { countWaitingPushes, findProviderRefusal, listPushOutcomes } from '../../store/sends/push-outcomes.ts';
import { findPushProvider, SANDBOX } from '../../store/sends/push-providers.ts';
import { findRollup } from '../../store/sends/report-rollups.ts';
import { requireApp } from '../apps/find-app.ts';
import { route } from '../http/route.ts';

const { waiting: MAX_WAITING, outcomes: MAX_OUTCOMES } = api.PUSH_OUTCOME_BOUNDS;

export const pushOutcomes = route(
  api.viewPushOutcomes,
  async ({ params: { app_identifier }, query, caller: { entityId } }, { db, figures }) => {
    const app = await requireApp(db, entityId, app_identifier);
    const platform = PLATFORM_OF[app.appType];
    const since = new Date(Date.now() - (query.days - 1) * DAY_MS).toISOString().slice(0, 10);
    const counted = await findRollup(db, entityId);
    const days = await listPushOutcomes(db, entityId, app.id, since, MAX_OUTCOMES);
    const refusal = await findProviderRefusal(db, entityId, app.id);
    const waiting = await countWaitingPushes(db, entityId, app.id, MAX_WAITING + 1);
    const { reachable, turnedOff, withoutToken, uninstalled } = await countPushDevices(db, entityId, app.id, figures);
    return {
      platform,
      provider: (await findPushProvider(db, entityId, app.id, platform))?.provider ?? SANDBOX,
      since,
      as_of: isoOf(counted?.countedUntil ?? null),
      days: days.map(({ day, provider, outcome, providerCode, attempts }) => ({
        day,
        provider,
        outcome,
        code: providerCode === '' ? null : providerCode,
        reason: PUSH_DAY_OUTCOMES[outcome],
        pushes: attempts,
      })),
      refused: refusal && { ...refusal, since: refusal.since.toISOString() },
      waiting: waiting.map(({ reason, count, nextAt }) => ({
        reason,
        meaning: WAIT_REASONS[reason],
        pushes: count,
        next_at: isoOf(nextAt),
      })),
      waiting_is_more: waiting.reduce((sum, { count }) => sum + count, 0) > MAX_WAITING,
      devices: {
        devices: reachable + turnedOff + withoutToken + uninstalled,
        reachable,
        turned_off: turnedOff,
        without_token: withoutToken,
        uninstalled,
      },
    };
  },
);
