/** The routes of groups of apps. */

import * as api from '../../api/apps/app-groups.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  type AppGroup,
  deleteAppGroup,
  findAppGroup,
  insertAppGroup,
  renameAppGroup,
  streamAppGroups,
  updateAppsOfGroup,
} from '../../store/apps/app-groups.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { noResult, streamedList } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const listGroups = route(api.listAppGroups, async (who, { db, streamedLists }) => {
  return streamedList(
    streamedLists.shown(who, streamAppGroups(db, who.caller.entityId), (piece) => piece.map(showGroup)),
  );
});

const viewGroup = route(api.viewAppGroup, async ({ params: { group_identifier }, caller }, { db }) => {
  return showGroup(await knownGroup(db, caller.entityId, group_identifier));
});

const createGroup = route(api.createAppGroup, async ({ body, keepReply, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(
    db,
    async (tx) => {
      const made = (await insertAppGroup(tx, entityId, body.name)) ?? refuseTakenName();
      const appIds = await readApps(tx, entityId, body.apps);
      if (appIds) await updateAppsOfGroup(tx, entityId, made.id, appIds);
      await audit(tx, who, { action: 'create', subjectKind: 'app_group', subject: made.identifier });
      return keepReply(tx, showGroup(await knownGroup(tx, entityId, made.identifier)));
    },
    { collide: true },
  );
});

const changeGroup = route(api.updateAppGroup, async ({ params: { group_identifier }, body, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(
    db,
    async (tx) => {
      const { id } = await knownGroup(tx, entityId, group_identifier, { isLocked: true });
      const appIds = await readApps(tx, entityId, body.apps);
      if (body.name !== undefined && !(await renameAppGroup(tx, entityId, id, body.name))) refuseTakenName();
      if (appIds) await updateAppsOfGroup(tx, entityId, id, appIds);
      const details = { changed: Object.keys(body).join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'app_group', subject: group_identifier, details });
      return showGroup(await knownGroup(tx, entityId, group_identifier));
    },
    { collide: true },
  );
});

const deleteGroup = route(api.deleteAppGroup, async ({ params: { group_identifier }, ...who }, { db }) => {
  const { entityId } = who.caller;
  await write(db, async (tx) => {
    const { id } = await knownGroup(tx, entityId, group_identifier, { isLocked: true });
    await deleteAppGroup(tx, entityId, id);
    await audit(tx, who, { action: 'delete', subjectKind: 'app_group', subject: group_identifier });
  });
  return noResult();
});

async function knownGroup(
  db: Queryable,
  entityId: number,
  given: string,
  options?: { isLocked: boolean },
): Promise<AppGroup> {
  return (await findAppGroup(db, entityId, given, options)) ?? refuse(404, 'not_found', 'App group not found');
}

function refuseTakenName(): never {
  return refuseField('name', 'is the name of another app group already');
}

async function readApps(
  tx: Queryable,
  entityId: number,
  identifiers: string[] | undefined,
): Promise<number[] | undefined> {
  if (identifiers === undefined) return undefined;
  const ids = await listAppIds(tx, entityId, identifiers);
  const unknown = identifiers.findIndex((each) => !ids.has(each));
  if (unknown >= 0) refuseField(`apps.${unknown}`, 'names no app of the entity');
  return [...ids.values()];
}

function showGroup({ identifier: id, name: called, createdAt, apps: within }: AppGroup): api.AppGroup {
  return { identifier: id, name: called, created_at: Math.floor(createdAt.getTime() / 1_000), apps: within };
}

export const appGroupRoutes: Route[] = [listGroups, viewGroup, createGroup, changeGroup, deleteGroup];
