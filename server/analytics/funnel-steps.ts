/** Checks the steps of a funnel, and looks up their apps and events. */

import { eventNameError } from '../../domain/analytics/event-names.ts';
import { detailsOf, eventsOfFunnel, type FunnelExclusion, type FunnelStep } from '../../domain/analytics/funnel.ts';
import { type FieldError, MAX_FAULTS, refuseFields } from '../../domain/core/refusal.ts';
import type { FunnelQuery } from '../../store/analytics/funnel-stats.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';
import { listEventNames } from '../../store/tracking/event-definitions.ts';

type Steps = { steps: readonly FunnelStep[]; exclusions?: readonly FunnelExclusion[] | undefined };

/** Returns the steps with the ids of their apps. Refuses unknown apps and events by name (reference: Funnels, 3). */
export async function resolveSteps(
  db: Queryable,
  entityId: number,
  { steps, exclusions = [] }: Steps,
  at: string,
): Promise<Pick<FunnelQuery, 'events' | 'details'> & { appIds: number[] }> {
  const names = [
    ...steps.flatMap(({ match_name: all }, step) =>
      all.map((name, index) => ({ name, path: `${at}steps.${step}.match_name.${index}` })),
    ),
    ...exclusions.flatMap(({ match_name: all }, nth) =>
      all.map((name, index) => ({ name, path: `${at}exclusions.${nth}.match_name.${index}` })),
    ),
  ];
  const apps = await listAppIds(db, entityId, [...new Set(names.map(({ name }) => name.app_id))]);
  const known = new Map<string, ReadonlySet<string>>();
  const errors: FieldError[] = exclusions.flatMap(({ after_step: step }, nth) =>
    step < steps.length - 1
      ? []
      : [
          {
            element: `${at}exclusions.${nth}.after_step`,
            message: 'must be the number of a step before the last one',
          },
        ],
  );
  for (const {
    name: { app_id: app, log_type: logType, log_name: name },
    path,
  } of names) {
    if (errors.length >= MAX_FAULTS) break;
    const appId = apps.get(app);
    if (appId === undefined) {
      errors.push({ element: `${path}.app_id`, message: 'is no app of your entity: GET /api/apps lists them' });
      continue;
    }
    const key = `${appId}/${logType}`;
    if (!known.has(key)) known.set(key, await listEventNames(db, entityId, appId, logType === 0 ? null : logType));
    const message = eventNameError(name, known.get(key)!);
    if (message !== null) errors.push({ element: `${path}.log_name`, message });
  }
  refuseFields(errors);
  const events = eventsOfFunnel(steps, exclusions).map(({ appId, ...event }) => ({
    ...event,
    appId: apps.get(appId)!,
  }));
  return { events, details: steps.map(detailsOf), appIds: [...apps.values()] };
}
