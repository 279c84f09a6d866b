import * as api from '../../api/apps/apps.ts';
import { isUnwanted } from '../../domain/apps/app-statuses.ts';
import { updateGroupsOfApp } from '../../store/apps/app-groups.ts';
import { insertApp, lockApp, streamWholeApps, updateApp, type WholeApp } from '../../store/apps/apps.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { listQuietSends } from '../../store/sends/attempts.ts';
import { updateOutcomeDelivery } from '../../store/sends/outcome-deliveries.ts';
import { audit, auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { streamedResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { wakeSendSoon } from '../jobs/start-soon.ts';
import {
  changedMembers,
  readGroups,
  readSettings,
  refuseChangeOfPrivacy,
  refuseChangeOfStoreFetched,
} from './app-change.ts';
import { requireWholeApp, seesFcmKey, showApps, showCreatedApp } from './app-record.ts';

const listApps = route(api.listApps, async ({ query, ...who }, { db, secrets, figures, streamedLists }) => {
  return streamedResult(
    'apps',
    streamedLists.shown(who, streamWholeApps(db, secrets, who.caller.entityId), async (piece) => {
      const apps = piece.filter(({ statuses }) => query.unwanted || !isUnwanted(statuses));
      await writeDownKeys(db, who, apps);
      return showApps(db, figures, who.caller, apps);
    }),
  );
});

const viewApp = route(api.viewApp, async ({ params: { app_identifier }, ...who }, { db, secrets, figures }) => {
  const app = await requireWholeApp(db, secrets, who.caller.entityId, app_identifier);
  await writeDownKeys(db, who, [app]);
  return { apps: await showApps(db, figures, who.caller, [app]) };
});

const createApp = route(api.createApp, async ({ body, keepReply, ...who }, { db, secrets, figures }) => {
  const { entityId } = who.caller;
  return write(
    db,
    async (tx) => {
      const settings = await readSettings(tx, entityId, body, null);
      refuseChangeOfPrivacy(who.caller, null, settings);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const { id, identifier: made } = await insertApp(tx, secrets, entityId, settings, body.store_fetched);
      if (groups) await updateGroupsOfApp(tx, entityId, id, groups);
      await updateOutcomeDelivery(tx, entityId, id, settings.outcomesConnection !== null);
      const details = { app_type: settings.appType, store_fetched: body.store_fetched };
      await audit(tx, who, { action: 'create', subjectKind: 'app', subject: made, details });
      return keepReply(
        tx,
        await showCreatedApp(tx, figures, who.caller, await requireWholeApp(tx, secrets, entityId, made)),
      );
    },
    { collide: true },
  );
});

/** Maximum number of sends that learn at once that quiet hours have changed; the others see it when they go on. */
const MAX_WOKEN = 100;

const changeApp = route(api.updateApp, async ({ params: { app_identifier }, body, ...who }, deps) => {
  const { db, secrets, figures } = deps;
  const { entityId } = who.caller;
  const { shown, waiting } = await write(
    db,
    async (tx) => {
      await lockApp(tx, entityId, app_identifier);
      const before = await requireWholeApp(tx, secrets, entityId, app_identifier);
      const named = { ...body, name: body.name ?? before.name, package_name: body.package_name ?? before.packageName };
      const after = await readSettings(tx, entityId, named, before);
      refuseChangeOfPrivacy(who.caller, before, after);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const changed = [
        ...changedMembers(before, after),
        ...(isRegrouped(before, body.app_groups) ? ['app_groups'] : []),
      ];
      if (before.storeFetched) refuseChangeOfStoreFetched(changed);
      await updateApp(tx, secrets, entityId, before, after);
      if (groups) await updateGroupsOfApp(tx, entityId, before.id, groups);
      await updateOutcomeDelivery(tx, entityId, before.id, after.outcomesConnection !== null);
      const details = { changed: changed.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'app', subject: app_identifier, details });
      const changedApp = await requireWholeApp(tx, secrets, entityId, app_identifier);
      await writeDownKeys(tx, who, [changedApp]);
      const isOtherwiseQuiet = JSON.stringify(before.quietHours) !== JSON.stringify(after.quietHours);
      return {
        shown: { apps: await showApps(tx, figures, who.caller, [changedApp]) },
        waiting: isOtherwiseQuiet ? await listQuietSends(tx, entityId, before.id, MAX_WOKEN) : [],
      };
    },
    { collide: true },
  );
  await Promise.all(waiting.map((send) => wakeSendSoon(deps, who.log, send)));
  return shown;
});

function isRegrouped({ groups }: WholeApp, given: string[] | undefined): boolean {
  const before = groups.map((group) => group.identifier);
  return given !== undefined && (given.some((id) => !before.includes(id)) || before.some((id) => !given.includes(id)));
}

/** An app's key to push by is a secret: who has seen it is written down. */
async function writeDownKeys(db: Queryable, who: { caller: Caller; address: string }, apps: WholeApp[]): Promise<void> {
  const shown = seesFcmKey(who.caller) ? apps.filter(({ fcmKey }) => fcmKey !== null) : [];
  if (shown.length === 0) return;
  await auditEach(
    db,
    who,
    shown.map(({ identifier: subject }) => ({
      action: 'read',
      subjectKind: 'app',
      subject,
      details: { fcm_key: true },
    })),
  );
}

export const appRoutes: Route[] = [listApps, viewApp, createApp, changeApp];
