import { z } from 'zod';
import { isUnwanted } from '../../domain/apps/app-statuses.ts';
import { updateGroupsOfApp } from '../../store/apps/app-groups.ts';
import { insertApp, listWholeApps, lockApp, updateApp, type WholeApp } from '../../store/apps/apps.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { audit, auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { identifier, queryFlag } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { AppChangeBody, NewAppBody } from './app-body.ts';
import { changedMembers, readGroups, readSettings, refuseChangeOfPrivacy, refuseChangeOfStoreFetched } from './app-change.ts';
import { AppRecord, CreatedApp, requireWholeApp, seesFcmKey, showApps, showCreatedApp } from './app-record.ts';

/** The apps of the entity (docs/apps.md). */
const SHARED = { tag: 'Apps' } as const;
const PATH = '/api/apps';
const params = z.object({ app_identifier: identifier });
const PRIVACY_SETTINGS = 'Setting gdpr_emails or gdpr_approval needs gdpr_data_manage, too.';
const Apps = z.object({ apps: z.array(AppRecord) });

const listApps = route({
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: PATH,
  summary: 'List apps',
  query: z.object({ unwanted: queryFlag.default(false).describe('Also those that are removed from sale or inactive') }),
  result: Apps,
  async handle({ query, ...who }, { db, secrets, figures }) {
    const all = await listWholeApps(db, secrets, who.caller.entityId);
    const apps = all.filter(({ statuses }) => query.unwanted || !isUnwanted(statuses));
    await writeDownKeys(db, who, apps);
    return { apps: await showApps(db, figures, who.caller, apps) };
  },
});

const viewApp = route({
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: `${PATH}/:app_identifier`,
  summary: 'View an app',
  params,
  result: Apps,
  async handle({ params: { app_identifier }, ...who }, { db, secrets, figures }) {
    const app = await requireWholeApp(db, secrets, who.caller.entityId, app_identifier);
    await writeDownKeys(db, who, [app]);
    return { apps: await showApps(db, figures, who.caller, [app]) };
  },
});

const createApp = route({
  ...SHARED,
  right: 'apps_manage',
  method: 'POST',
  path: PATH,
  summary: 'Create an app, with the System of Records for what its SDK sends',
  description: `Its SDK can send once it has a key: POST /api/apps/<app_identifier>/api_keys. ${PRIVACY_SETTINGS}`,
  body: NewAppBody,
  result: CreatedApp,
  async handle({ body, keepReply, ...who }, { db, secrets, figures }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const settings = await readSettings(tx, entityId, body, null);
      refuseChangeOfPrivacy(who.caller, null, settings);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const { id, identifier: made } = await insertApp(tx, secrets, entityId, settings, body.store_fetched);
      if (groups) await updateGroupsOfApp(tx, entityId, id, groups);
      const details = { app_type: settings.appType, store_fetched: body.store_fetched };
      await audit(tx, who, { action: 'create', subjectKind: 'app', subject: made, details });
      return keepReply(tx, await showCreatedApp(tx, figures, who.caller, await requireWholeApp(tx, secrets, entityId, made)));
    }, { collide: true });
  },
});

const changeApp = route({
  ...SHARED,
  right: 'apps_manage',
  method: 'PUT',
  path: `${PATH}/:app_identifier`,
  summary: 'Change an app',
  description: `Members that are left out stay, but app_type has to be given; arrays are replaced as they are given. ${PRIVACY_SETTINGS}`,
  params,
  body: AppChangeBody,
  result: Apps,
  async handle({ params: { app_identifier }, body, ...who }, { db, secrets, figures }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      await lockApp(tx, entityId, app_identifier);
      const before = await requireWholeApp(tx, secrets, entityId, app_identifier);
      const named = { ...body, name: body.name ?? before.name, package_name: body.package_name ?? before.packageName };
      const after = await readSettings(tx, entityId, named, before);
      refuseChangeOfPrivacy(who.caller, before, after);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const changed = [...changedMembers(before, after), ...isRegrouped(before, body.app_groups) ? ['app_groups'] : []];
      if (before.storeFetched) refuseChangeOfStoreFetched(changed);
      await updateApp(tx, secrets, entityId, before, after);
      if (groups) await updateGroupsOfApp(tx, entityId, before.id, groups);
      const details = { changed: changed.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'app', subject: app_identifier, details });
      const changedApp = await requireWholeApp(tx, secrets, entityId, app_identifier);
      await writeDownKeys(tx, who, [changedApp]);
      return { apps: await showApps(tx, figures, who.caller, [changedApp]) };
    }, { collide: true });
  },
});

function isRegrouped({ groups }: WholeApp, given: string[] | undefined): boolean {
  const before = groups.map((group) => group.identifier);
  return given !== undefined && (given.some((id) => !before.includes(id)) || before.some((id) => !given.includes(id)));
}

/** An app's key to push by is a secret: who has seen it is written down. */
async function writeDownKeys(db: Queryable, who: { caller: Caller; address: string }, apps: WholeApp[]): Promise<void> {
  const shown = seesFcmKey(who.caller) ? apps.filter(({ fcmKey }) => fcmKey !== null) : [];
  if (shown.length === 0) return;
  await auditEach(db, who, shown.map(({ identifier: subject }) =>
    ({ action: 'read', subjectKind: 'app', subject, details: { fcm_key: true } })));
}

export const appRoutes: Route[] = [listApps, viewApp, createApp, changeApp];
