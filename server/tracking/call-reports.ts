/** The routes that report on an app's calls: live calls, refused calls, counts, crashes. */

import * as api from '../../api/tracking/call-reports.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { insertFollowedEntry } from '../../store/accounts/audit-log.ts';
import { write } from '../../store/core/database.ts';
import { deleteCrash, listCrashes } from '../../store/tracking/crashes.ts';
import {
  listRefusedCalls,
  type StoredRefusedCall,
  listLiveCalls,
  type StoredLiveCall,
  type DailyCallCounts,
  listCallCounts,
} from '../../store/tracking/call-reports.ts';
import { requireApp } from '../apps/find-app.ts';
import { actorOf, audit } from '../http/audit.ts';
import { cursorPage, rowsOf, showPage } from '../http/page.ts';
import { noContent } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const listRefused = route(
  api.listRefusedCalls,
  async ({ params, query: { cursor, ...query }, ...who }, { db, settings }) => {
    const { entityId } = who.caller;
    const after = cursor ?? null;
    const found = await write(db, async (tx) => {
      const app = await requireApp(tx, entityId, params.app_identifier);
      await audit(tx, who, {
        action: 'read',
        subjectKind: 'app',
        subject: app.identifier,
        details: { what: 'refused_calls' },
      });
      return listRefusedCalls(
        tx,
        entityId,
        app.id,
        { code: query.code, messageId: query.message_id },
        after,
        query.per_page + 1,
      );
    });
    const path = `/api/apps/${params.app_identifier}/refused_calls`;
    const { rows, next } = cursorPage(settings, path, query, found);
    return { refused_calls: rows.map(showRefused), next };
  },
);

function showRefused({
  receivedAt,
  index,
  messageId,
  code,
  message,
  raw,
  isOfApp,
}: StoredRefusedCall): api.RefusedCall {
  return {
    received_at: receivedAt.toISOString(),
    index,
    message_id: messageId,
    code,
    message,
    call: raw,
    of_app: isOfApp,
  };
}

/** Clients poll this: the audit log gets an entry only if calls were shown, and one an hour of each viewer. */
const listLive = route(api.listLiveCalls, async ({ params, query: { after }, ...who }, { db }) =>
  write(db, async (tx) => {
    const app = await requireApp(tx, who.caller.entityId, params.app_identifier);
    const calls = await listLiveCalls(tx, who.caller.entityId, app.id, after);
    if (calls.length > 0)
      await insertFollowedEntry(tx, who.caller.entityId, {
        ...actorOf(who),
        subjectKind: 'app',
        subject: app.identifier,
        details: { what: 'live_calls' },
      });
    return { calls: calls.map(showLive) };
  }),
);

function showLive({ id, receivedAt, outcome, code, message, messageId, call, appId }: StoredLiveCall): api.LiveCall {
  return {
    id,
    received_at: receivedAt.toISOString(),
    outcome,
    code,
    message,
    message_id: messageId,
    call,
    of_app: appId !== null,
  };
}

const countCalls = route(api.countCalls, async ({ params, query, caller: { entityId } }, { db }) => {
  const app = await requireApp(db, entityId, params.app_identifier);
  const days = await listCallCounts(db, entityId, app.id, query.days);
  const last = days.find(({ lastReceivedAt }) => lastReceivedAt !== null)?.lastReceivedAt ?? null;
  return { days: days.map(showDay), last_received_at: last?.toISOString() ?? null };
});

function showDay({ date, accepted, duplicates, refused, refusedOfNoApp }: DailyCallCounts): api.CallCounts {
  return {
    date,
    received: accepted + duplicates + refused,
    accepted,
    duplicates,
    refused,
    refused_of_no_app: refusedOfNoApp,
  };
}

const listAppCrashes = route(api.listCrashes, async ({ params, query, caller: { entityId } }, { db, settings }) => {
  const app = await requireApp(db, entityId, params.app_identifier);
  const { total, crashes } = await listCrashes(db, entityId, app.id, rowsOf(query));
  return showPage(
    settings,
    `/api/apps/${app.identifier}/crashes`,
    query,
    total,
    crashes.map((crash) => ({
      identifier: crash.identifier,
      title: crash.title,
      first_seen_at: crash.firstSeenAt.toISOString(),
      last_seen_at: crash.lastSeenAt.toISOString(),
      occurrences: crash.occurrences,
    })),
  );
});

const deleteAppCrash = route(api.deleteCrash, async ({ params, ...who }, { db }) => {
  const { entityId } = who.caller;
  await write(db, async (tx) => {
    const app = await requireApp(tx, entityId, params.app_identifier);
    const isDeleted = await deleteCrash(tx, entityId, app.id, params.crash_identifier);
    if (!isDeleted) refuse(404, 'not_found', 'Crash not found');
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'crash',
      subject: params.crash_identifier,
      details: { app: app.identifier },
    });
  });
  return noContent();
});

export const callReportRoutes: Route[] = [listLive, listRefused, countCalls, listAppCrashes, deleteAppCrash];
