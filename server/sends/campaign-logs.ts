/** The route of campaign logs. */

import * as api from '../../api/sends/campaign-logs.ts';
import { refuse, refuseFields } from '../../domain/core/refusal.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { logStartErrors, logWindowErrors, type LogWindow } from '../../domain/sends/log-window.ts';
import type { App } from '../../store/apps/apps.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { type FileJob, findSharedFileJob, insertSharedFileJob, type SharedFile } from '../../store/files/file-jobs.ts';
import { fileUrl } from '../../store/files/file-link.ts';
import type { FileQuery } from '../../store/files/file-sources.ts';
import { REPORT_DAYS } from '../../store/sends/reports.ts';
import { requireAppOf } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';

type Who = Circumstances & { caller: Caller };

const report = route(api.reportCampaignLogs, async ({ query: { apps: asked, from, till }, ...who }, deps) => {
  const { entityId } = who.caller;
  const now = new Date();
  refuseFields(logWindowErrors({ from, till }, now));
  const { standing, begun } = await write(
    deps.db,
    async (tx) => {
      const apps: App[] = [];
      for (const identifier of new Set(asked)) apps.push(await requireAppOf(tx, entityId, 'apps', identifier));
      return findOrBegin(tx, deps, who, apps, { from, till }, now);
    },
    { collide: true },
  );
  for (const ref of begun) await startSoon(deps, who.log, 'file', ref);
  return resultOf(deps, standing, begun);
});

/** Finds each app's file, or begins a job. A report can still be read once its start is too far back. */
async function findOrBegin(
  tx: Tx,
  { secrets }: RouteDependencies,
  who: Who,
  apps: readonly App[],
  window: LogWindow,
  now: Date,
): Promise<{ standing: FileJob[]; begun: JobRef[] }> {
  const { entityId, userId } = who.caller;
  const [standing, begun, audited]: [FileJob[], JobRef[], { app: App; file: string }[]] = [[], [], []];
  for (const app of apps) {
    const file = fileOf(app, window);
    const found = await findSharedFileJob(tx, secrets, entityId, file);
    if (found) standing.push(found);
    else {
      refuseFields(logStartErrors(window, now, REPORT_DAYS));
      begun.push(await insertSharedFileJob(tx, secrets, entityId, file, userId));
    }
    // Audited when begun, and when its link is shown.
    if (found?.state === 'finished' || !found) audited.push({ app, file: (found ?? begun.at(-1)!).identifier });
  }
  await auditEach(
    tx,
    who,
    audited.map(({ app, file }) => ({
      action: 'export',
      subjectKind: 'app',
      subject: app.identifier,
      details: { what: 'campaign_logs', file },
    })),
  );
  return { standing, begun };
}

function fileOf({ id: appId }: App, { from, till }: LogWindow): SharedFile {
  const query: FileQuery<'campaign_logs'> = { appId, from: from.toISOString(), till: till.toISOString() };
  return { kind: 'campaign_logs', format: 'csv', query };
}

function resultOf({ secrets, settings }: RouteDependencies, standing: readonly FileJob[], begun: readonly JobRef[]) {
  const failed = standing.find(({ state }) => state === 'failed');
  if (failed) {
    const reason = failed.failure?.message ?? 'The file could not be built';
    return refuse(400, 'file_failed', `${reason}. Another from or till makes another report`);
  }
  if (begun.length > 0 || standing.some(({ file }) => file === null)) return 'Report being processed' as const;
  return { report_urls: standing.map(({ identifier }) => fileUrl(settings.publicUrl, secrets, identifier)) };
}

export const campaignLogRoutes: Route[] = [report];
