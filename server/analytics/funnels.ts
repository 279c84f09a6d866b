/** The routes of stored funnels. */

import * as api from '../../api/analytics/funnels.ts';
import { refuse } from '../../domain/core/refusal.ts';
import {
  findFunnel,
  type Funnel,
  insertFunnel,
  MAX_FUNNELS,
  streamFunnels,
  touchFunnel,
  updateFunnelArchived,
} from '../../store/analytics/funnels.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import { setLabels } from '../../store/apps/labels.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { streamedList } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { resolveSteps } from './funnel-steps.ts';

const listAll = route(api.listFunnels, async ({ query: { apps }, ...who }, { db, streamedLists }) => {
  const { entityId } = who.caller;
  const ids = apps && (await listAppIds(db, entityId, apps));
  if (ids && apps.some((app) => !ids.has(app))) refuse(404, 'not_found', 'App not found');
  const pieces = streamFunnels(db, entityId, ids ? [...ids.values()] : null);
  return streamedList(streamedLists.shown(who, pieces, (piece) => piece.map(showFunnel)));
});

const view = route(api.viewFunnel, async ({ params: { identifier }, caller: { entityId } }, { db }) =>
  showFunnel((await findFunnel(db, entityId, identifier)) ?? refuseUnknown()),
);

const create = route(api.createFunnel, async ({ body, keepReply, ...who }, { db }) => {
  const { entityId, userId } = who.caller;
  const { name, description = null, max_duration: maxDuration, steps, labels = [] } = body;
  return write(
    db,
    async (tx) => {
      const { appIds } = await resolveSteps(tx, entityId, { steps }, '');
      const shown = steps.map((step) => ({ ...step, match_details: step.match_details ?? [] }));
      const funnel =
        (await insertFunnel(tx, entityId, {
          name,
          description,
          maxDuration,
          steps: shown,
          appIds,
          createdBy: userId,
        })) ?? refuse(409, 'too_many', `The entity has ${MAX_FUNNELS} funnels, the most that it may have`);
      if (labels.length > 0) await setLabels(tx, entityId, { kind: 'funnel', id: funnel.id }, labels);
      await audit(tx, who, { action: 'create', subjectKind: 'funnel', subject: funnel.identifier, details: { name } });
      return keepReply(tx, showFunnel((await findFunnel(tx, entityId, funnel.identifier))!));
    },
    { collide: true },
  );
});

const changeLabels = route(api.updateFunnel, async ({ params: { identifier }, body: { labels }, ...who }, { db }) =>
  write(db, async (tx) => {
    const { entityId } = who.caller;
    const { id, archivedAt } = (await findFunnel(tx, entityId, identifier, { isLocked: true })) ?? refuseUnknown();
    if (archivedAt !== null) refuse(409, 'archived', 'The funnel is archived: restore it first');
    await setLabels(tx, entityId, { kind: 'funnel', id }, labels);
    await touchFunnel(tx, entityId, id);
    return changed(tx, who, identifier, { labels: labels.join(', ') });
  }),
);

const archive = route(api.archiveFunnel, async ({ params, ...who }, { db }) =>
  write(db, (tx) => setArchived(tx, who, params.identifier, true)),
);

const restore = route(api.restoreFunnel, async ({ params, ...who }, { db }) =>
  write(db, (tx) => setArchived(tx, who, params.identifier, false)),
);

type Who = Circumstances & { caller: Caller };

async function setArchived(tx: Tx, who: Who, identifier: string, archived: boolean): Promise<api.Funnel> {
  const { entityId } = who.caller;
  const { id } = (await findFunnel(tx, entityId, identifier, { isLocked: true })) ?? refuseUnknown();
  await updateFunnelArchived(tx, entityId, id, archived);
  return changed(tx, who, identifier, { archived });
}

async function changed(
  tx: Tx,
  who: Who,
  identifier: string,
  details: Record<string, string | boolean>,
): Promise<api.Funnel> {
  await audit(tx, who, { action: 'update', subjectKind: 'funnel', subject: identifier, details });
  return showFunnel((await findFunnel(tx, who.caller.entityId, identifier))!);
}

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Funnel not found');
}

function showFunnel({
  identifier,
  name,
  description,
  maxDuration,
  labels,
  steps,
  archivedAt,
  createdAt,
  updatedAt,
}: Funnel): api.Funnel {
  return {
    identifier,
    name,
    description,
    max_duration: maxDuration,
    labels,
    steps: steps.map((step) => ({ ...step, match_details: step.match_details ?? [] })),
    archived: archivedAt !== null,
    archived_at: archivedAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

export const funnelRoutes: Route[] = [listAll, view, create, changeLabels, archive, restore];
