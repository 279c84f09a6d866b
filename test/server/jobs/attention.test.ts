import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import { mailInternalErrors } from '../../../activities/accounts/account-mails.ts';
import type { AttentionItem as Item } from '../../../api/jobs/attention.ts';
import type { Mail, Mailer } from '../../../connectors/smtp/mailer.ts';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { PLACES as LIMITS } from '../../../domain/core/limits.ts';
import { erasedError } from '../../../domain/gdpr/erased-error.ts';
import { fileError, type ImportError } from '../../../domain/imports/import-error.ts';
import { INTERNAL_FAILURE } from '../../../domain/imports/import-error-type.ts';
import { UNCLOSED_QUOTE } from '../../../domain/imports/import-file.ts';
import { faultRecord } from '../../../runtime/telemetry/activity-interceptor.ts';
import { write } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { ATTENTION } from '../../../store/jobs/attention.ts';
import { type FailedStep, upsertInternalError } from '../../../store/jobs/internal-errors.ts';
import { updateProviderRefusals } from '../../../store/sends/push-providers.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';
import { sampleApp } from '../../harness/tracking/sdk-samples.ts';
import { runMillrace } from '../../cli/core/run-millrace.ts';
import { useServer } from '../http/use-server.ts';
import { insertUnreadableMail } from '../../../store/gdpr/core-personal-data.ts';

const { store, server, world } = useServer();

type Shown = { internal_error: unknown };
type Sample = (world: World, appId: number) => Promise<void>;

const sql = (text: string, values: unknown[] = []) => store.db.query<{ identifier: string; id: number }>(text, values);
const fail = (step: FailedStep) => upsertInternalError(store.db, step, randomUUID());
/** An error of a job that is tried again, and one of a step that was given up. */
const failJob = async (step: FailedStep) => {
  await fail(step);
  await upsertInternalError(store.db, { ...step, step: 'given up' }, randomUUID(), true);
};
const ago = (what: string) => `now() - interval '${what}'`;

async function insertFile(entityId: number, state: string, kind = 'events'): Promise<string> {
  const identifier = newIdentifier('fil');
  await sql(
    `INSERT INTO file_jobs (entity_id, identifier, kind, format, asked_hash, state, received_at, ended_at)
     VALUES ($1, $2, $3, 'csv', sha256($2::text::bytea), $4, ${ago('1 hour')}, CASE WHEN $4 = 'failed' THEN now() END)`,
    [entityId, identifier, kind, state],
  );
  return identifier;
}

async function insertSend(entityId: number, campaignId: number | null): Promise<string> {
  const identifier = newIdentifier('snd');
  await sql(
    `INSERT INTO sends (entity_id, identifier, message_count, campaign_id, received_at) VALUES ($1, $2, 1, $3, ${ago('1 hour')})`,
    [entityId, identifier, campaignId],
  );
  return identifier;
}

async function insertRequest(entityId: number, type: string, state: string): Promise<string> {
  const identifier = newIdentifier('gdp');
  await sql(
    `INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, requester_kind, state, received_at)
     VALUES ($1, $2, $3, 'api', 'user', $4, ${ago('2 hours')})`,
    [entityId, identifier, type, state],
  );
  return identifier;
}

async function insertExportRun(entityId: number, exporterId: number, set: string): Promise<string> {
  const identifier = newIdentifier('run');
  await sql(
    `INSERT INTO export_runs (entity_id, identifier, exporter_id, cause, window_end) VALUES ($1, $2, $3, 'request', now())`,
    [entityId, identifier, exporterId],
  );
  await sql(`UPDATE export_runs SET ${set} WHERE identifier = $1`, [identifier]);
  return identifier;
}

/** A campaign with pushes of unknown outcome some days ago, a few of which devices have confirmed since. */
async function insertUnknown(
  entityId: number,
  appId: number,
  { ago: days, unknown, delivered }: { ago: number; unknown: number; delivered: number },
): Promise<void> {
  const campaign = (await insertSampleCampaign(store.db, entityId, appId)).id;
  const day = `(now() AT TIME ZONE 'UTC')::date - $3::integer`;
  await sql(
    `INSERT INTO push_outcome_days (entity_id, campaign_id, day, app_id, provider, outcome, attempts)
     VALUES ($1, $2, ${day}, $4, 'fcm', 'unknown', $5)`,
    [entityId, campaign, days, appId, unknown],
  );
  await sql(
    `INSERT INTO campaign_days (entity_id, campaign_id, day, channel, code, attempts, delivered, opened, shown, clicked)
     VALUES ($1, $2, ${day}, 'push', 'UNKNOWN', $4, $5, 0, 0, 0)`,
    [entityId, campaign, days, unknown, delivered],
  );
}

/** One sample for each source, by kind and object: what the source has to find. */
const SAMPLES: Record<string, Sample> = {
  'internal_error import': async (own) =>
    failJob({
      entityId: own.entity.id,
      kind: 'import',
      job: (await insertUpload(store.db, store, own)).identifier,
      step: 'loadRows',
    }),
  'internal_error sync': async (own) =>
    failJob({
      entityId: own.entity.id,
      kind: 'sync',
      step: 'syncRecords',
      job: (await storedRun(store.db, await storedSync(store.db, own), { state: 'running' })).identifier,
    }),
  'internal_error exporter': async (own) => {
    const { id } = await storedExporter(store.db, store.secrets, own);
    const job = await insertExportRun(own.entity.id, id, "state = 'running'");
    await failJob({ entityId: own.entity.id, kind: 'export', step: 'exportFiles', job });
  },
  'internal_error file': async ({ entity: { id } }) =>
    failJob({
      entityId: id,
      kind: 'file',
      job: await insertFile(id, 'running'),
      step: 'writeFile',
    }),
  'internal_error send': async ({ entity: { id } }) =>
    failJob({
      entityId: id,
      kind: 'send',
      job: await insertSend(id, null),
      step: 'sendMessages',
    }),
  'internal_error campaign': async ({ entity: { id } }, appId) =>
    failJob({
      entityId: id,
      kind: 'campaign',
      job: await insertSend(id, (await insertSampleCampaign(store.db, id, appId)).id),
      step: 'sendToAudience',
    }),
  'internal_error privacy_request': async ({ entity: { id } }) => {
    for (const kind of ['access', 'delete'] as const) {
      await failJob({ entityId: id, kind, job: await insertRequest(id, kind, 'running'), step: 'some step' });
    }
  },
  'internal_error feed': ({ entity: { id } }) => fail({ entityId: id, kind: 'feed', job: '', step: 'drainFeed' }),
  'internal_error segments': ({ entity: { id } }) =>
    fail({ entityId: id, kind: 'segments', job: '', step: 'refreshSegment' }),
  'internal_error reports': ({ entity: { id } }) =>
    fail({ entityId: id, kind: 'reports', job: '', step: 'countAttempts' }),
  'internal_error upkeep': () => fail({ entityId: null, kind: 'upkeep', job: '', step: 'deleteExpired' }),
  'internal_error request': async ({ entity: { id } }) => {
    await fail({ entityId: id, kind: 'request', job: '', step: 'GET /api/segments' });
    await fail({ entityId: null, kind: 'request', job: '', step: 'POST /api/login' });
  },
  // Those of an internal error that are accepted are stalled, too.
  'stalled import': async (own) => {
    await sql(`UPDATE imports SET received_at = ${ago('1 hour')} WHERE id = $1`, [
      (await insertUpload(store.db, store, own)).id,
    ]);
    await sql(
      `UPDATE imports SET state = 'running', fetch_failing_since = ${ago('2 hours')}, fetch_fault = 'away' WHERE id = $1`,
      [(await insertUpload(store.db, store, own)).id],
    );
  },
  'stalled sync': async (own) => {
    const [accepted, waiting] = await Promise.all(
      (['accepted', 'running'] as const).map(async (state) =>
        storedRun(store.db, await storedSync(store.db, own), { state }),
      ),
    );
    await sql(`UPDATE sync_runs SET received_at = ${ago('1 hour')} WHERE id = $1`, [accepted!.id]);
    await sql(`UPDATE sync_runs SET failing_since = ${ago('2 hours')}, fault = 'away' WHERE id = $1`, [waiting!.id]);
  },
  'stalled exporter': async (own) => {
    const [one, other] = [
      await storedExporter(store.db, store.secrets, own),
      await storedExporter(store.db, store.secrets, own),
    ];
    await insertExportRun(own.entity.id, one.id, `received_at = ${ago('1 hour')}`);
    await insertExportRun(own.entity.id, other.id, `state = 'running', failing_since = ${ago('2 hours')}`);
  },
  'stalled file': async ({ entity: { id } }) => void (await insertFile(id, 'accepted')),
  'stalled send': async ({ entity: { id } }) => void (await insertSend(id, null)),
  'stalled campaign': async ({ entity: { id } }, appId) =>
    void (await insertSend(id, (await insertSampleCampaign(store.db, id, appId)).id)),
  'stalled privacy_request': async ({ entity: { id } }) => {
    await insertRequest(id, 'access', 'accepted');
    await insertRequest(id, 'delete', 'accepted');
    await sql(
      `UPDATE gdpr_requests SET location_faults = '{"imports/": {"since": "2026-11-01T12:00:01+00:00", "reason": "it is away"}}'
      WHERE identifier = $1`,
      [await insertRequest(id, 'delete', 'running')],
    );
  },
  'paused sync': async (own) =>
    void (await sql(`UPDATE syncs SET paused_at = now(), paused_reason = 'it failed' WHERE id = $1`, [
      (await storedSync(store.db, own)).id,
    ])),
  'paused exporter': async (own) =>
    void (await sql(`UPDATE data_exporters SET paused_at = now(), paused_reason = 'it failed' WHERE id = $1`, [
      (await storedExporter(store.db, store.secrets, own)).id,
    ])),
  'failed sync': async (own) => {
    const sync = await storedSync(store.db, own);
    await storedRun(store.db, sync, { state: 'failed' });
    await sql('UPDATE syncs SET failures = 1 WHERE id = $1', [sync.id]);
  },
  'failed exporter': async (own) => {
    const { id } = await storedExporter(store.db, store.secrets, own);
    await insertExportRun(own.entity.id, id, `state = 'failed', ended_at = now(), failure = 'the bucket is gone'`);
    await sql('UPDATE data_exporters SET failures = 1 WHERE id = $1', [id]);
  },
  'failed import': async (own) => {
    const imports = [await insertUpload(store.db, store, own), await insertUpload(store.db, store, own)];
    const ids = imports.map(({ id }) => id);
    await sql(`UPDATE imports SET state = 'failed', ended_at = now() WHERE id = ANY ($1)`, [ids]);
    const error = fileError(INTERNAL_FAILURE, 'an error in Millrace');
    await write(store.db, (tx) => insertImportErrors(tx, own.entity.id, ids[0]!, [error]));
  },
  'failed file': async ({ entity: { id } }) => {
    for (const kind of ['customer_profiles', 'campaigns', 'events', 'download_metrics'])
      await insertFile(id, 'failed', kind);
  },
  'failed segment': async ({ entity: { id } }, appId) =>
    void (await sql(`UPDATE segments SET failure = 'too slow' WHERE id = $1`, [
      (await insertSampleSegment(store.db, id, { appId })).id,
    ])),
  'failed campaign': async ({ entity: { id } }, appId) =>
    void (await sql(`UPDATE campaigns SET status = 'failed', ended_at = now() WHERE id = $1`, [
      (await insertSampleCampaign(store.db, id, appId)).id,
    ])),
  'failed privacy_request': async ({ entity: { id } }) =>
    void (await sql('UPDATE gdpr_requests SET given_up_at = now() WHERE identifier = $1', [
      await insertRequest(id, 'delete', 'accepted'),
    ])),
  'failed mail': async () => insertUnreadableMail(store.db, 'unreadable/broken.eml'),
  'waiting_for_approval privacy_request': async ({ entity: { id } }) =>
    void (await insertRequest(id, 'delete', 'waiting')),
  'waiting_for_approval sync': async (own) =>
    void (await sql(`UPDATE sync_runs SET removal = 'held' WHERE id = $1`, [
      (await storedRun(store.db, await storedSync(store.db, own), { state: 'finished' })).id,
    ])),
  'overdue privacy_request': async ({ entity: { id } }) => void (await insertRequest(id, 'access', 'running')),
  'missing_windows exporter': async (own) =>
    void (await sql(
      `UPDATE data_exporters SET active = true, updated_at = ${ago('5 days')}, exported_until = ${ago('4 days')} WHERE id = $1`,
      [(await storedExporter(store.db, store.secrets, own)).id],
    )),
  'open_rows import': async (own) => {
    const { id } = await insertUpload(store.db, store, own);
    await sql(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [id]);
    await sql('UPDATE import_lanes SET rows_in = 2, rows_failed = 2 WHERE import_id = $1 AND lane = 0', [id]);
  },
  'open_rows sync': async (own) =>
    void (await sql('UPDATE sync_runs SET records_read = 2, records_failed = 2 WHERE id = $1', [
      (await storedRun(store.db, await storedSync(store.db, own), { state: 'finished' })).id,
    ])),
  'provider_refuses app': async ({ entity: { id } }, appId) => {
    const [sent, refused] = [
      { appId, provider: 'fcm', code: null },
      { appId, provider: 'fcm', code: 'UNAUTHENTICATED' },
    ];
    await updateProviderRefusals(store.db, id, [refused]);
    await updateProviderRefusals(store.db, id, [refused, sent]);
    expect((await sql('SELECT FROM provider_refusals')).rowCount).toBe(0);
    for (const answers of [[refused], [refused, refused]]) await updateProviderRefusals(store.db, id, answers);
  },
  'unknown_outcome campaign': async ({ entity: { id } }, appId) => {
    for (const [ago, unknown, delivered] of [
      [0, 2, 1],
      [7, 1, 0],
      [0, 1, 1],
    ] as const)
      await insertUnknown(id, appId, { ago, unknown, delivered });
  },
};

const PLACES = [...new Set(ATTENTION.map(({ kind, object }) => `${kind} ${object}`))];
const placeOf = ({ kind, object }: Item) => `${kind} ${object.type}`;

async function listed(token: string, query = ''): Promise<Item[]> {
  const { status, body } = await server.call('GET', `/api/attention?per_page=1000${query}`, { token });
  expect(status).toBe(200);
  return body.result.attention;
}

describe('an entry ends', () => {
  let own: World;
  beforeAll(async () => {
    own = await makeWorld(store);
  });
  const has = async (place: string, id: string) =>
    (await listed(own.token)).some((item) => placeOf(item) === place && item.object.id === id);
  const errorsOf = (jobId: number, errors: ImportError[]) =>
    write(store.db, (tx) => insertImportErrors(tx, own.entity.id, jobId, errors));
  const hash = Buffer.alloc(32, 7);

  it('with open rows once those that are left are of erased people', async () => {
    const { id, identifier } = await insertUpload(store.db, store, own);
    await sql(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [id]);
    await sql('UPDATE import_lanes SET rows_in = 2, rows_failed = 2 WHERE import_id = $1 AND lane = 0', [id]);
    await errorsOf(id, [
      erasedError(2, hash),
      { ...erasedError(3, hash), message: 'is no number', customerHash: null },
    ]);
    const open = async () =>
      (await server.call('GET', `/api/attribute_values/imports/${identifier}`, { token: own.token })).body.result.rows
        .open as number;
    expect([await open(), await has('open_rows import', identifier)]).toEqual([1, true]);
    await sql('UPDATE import_errors SET message = $2 WHERE import_id = $1 AND line = 3', [id, UNCLOSED_QUOTE]);
    expect((await listed(own.token)).find((item) => item.object.id === identifier)).toMatchObject({
      reason: '1 rows are open; a quote is not closed, and the rest of the file behind it was not read',
      what_to_do: expect.stringContaining('import the whole file again') as string,
    });
    // A reason in the same word is another system's, and leaves the row open.
    await sql(`UPDATE import_errors SET message = 'erased' WHERE import_id = $1`, [id]);
    expect([await open(), await has('open_rows import', identifier)]).toEqual([1, true]);
    await sql('UPDATE import_errors SET is_erased = true WHERE import_id = $1', [id]);
    expect([await open(), await has('open_rows import', identifier)]).toEqual([0, false]);
  });

  it('with open records once those are settled, or a later run of the sync has none', async () => {
    const sync = await storedSync(store.db, own);
    const run = async (failed: number, ignored = 0) => {
      const { id } = await storedRun(store.db, sync, { state: 'finished' });
      await sql(
        'UPDATE sync_runs SET records_read = $2::int + $3::int, records_failed = $2, records_ignored = $3 WHERE id = $1',
        [id, failed, ignored],
      );
      return id;
    };
    const isListed = () => has('open_rows sync', sync.identifier);
    const first = await run(1, 1);
    await errorsOf(first, [erasedError(1, hash)]);
    expect(await isListed()).toBe(true);
    await run(0);
    expect(await isListed()).toBe(false);
    await errorsOf(await run(1), [erasedError(1, hash)]);
    expect(await isListed()).toBe(false);
  });

  it('of a failed import once its re-drive has ended', async () => {
    const [failed, again] = [await insertUpload(store.db, store, own), await insertUpload(store.db, store, own)];
    await sql(`UPDATE imports SET state = 'failed', ended_at = now() WHERE id = $1`, [failed.id]);
    await sql('UPDATE imports SET parent_id = $2, root_id = $2 WHERE id = $1', [again.id, failed.id]);
    expect(await has('failed import', failed.identifier)).toBe(true);
    await sql('UPDATE imports SET dry_run = true WHERE id = $1', [failed.id]);
    expect(await has('failed import', failed.identifier)).toBe(false);
    await sql('UPDATE imports SET dry_run = false WHERE id = $1', [failed.id]);
    await sql(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [again.id]);
    expect(await has('failed import', failed.identifier)).toBe(false);
    await sql('UPDATE import_lanes SET rows_in = 1, rows_failed = 1 WHERE import_id = $1 AND lane = 0', [again.id]);
    expect(await has('open_rows import', again.identifier)).toBe(true);
  });

  it('of a failed file once the same file was asked for again; a file that an erasure ended has none', async () => {
    const failed = await insertFile(own.entity.id, 'failed');
    expect(await has('failed file', failed)).toBe(true);
    const again = await insertFile(own.entity.id, 'running');
    await sql(
      `UPDATE file_jobs SET state = 'finished', asked_hash = (SELECT asked_hash FROM file_jobs WHERE identifier = $2)
      WHERE identifier = $1`,
      [again, failed],
    );
    expect(await has('failed file', failed)).toBe(false);
    const erased = await insertFile(own.entity.id, 'failed');
    await sql(`UPDATE file_jobs SET failure_status = 'erased' WHERE identifier = $1`, [erased]);
    expect(await has('failed file', erased)).toBe(false);
  });
});

describe('a failed run is listed whatever started it', () => {
  let own: World;
  beforeAll(async () => {
    own = await makeWorld(store);
  });
  const listedRun = async (type: string, id: string) =>
    (await listed(own.token, '&kind=failed')).find(({ object }) => object.type === type && object.id === id)?.object
      .run ?? null;

  it('of an exporter: a rerun or a backfill, until the next run that exports', async () => {
    const { id, identifier } = await storedExporter(store.db, store.secrets, own);
    const ended = (state: string, more = '') =>
      insertExportRun(own.entity.id, id, `state = '${state}', ended_at = now()${more}`);
    const failed = await ended('failed', `, cause = 'rerun'`);
    await ended('finished', ', is_covered = true');
    await ended('canceled');
    expect(await listedRun('exporter', identifier)).toBe(failed);
    await ended('finished');
    expect(await listedRun('exporter', identifier)).toBeNull();
    // While scheduled runs count as failed, a finished rerun of another window ends nothing.
    await sql('UPDATE data_exporters SET failures = 1 WHERE id = $1', [id]);
    expect(await listedRun('exporter', identifier)).toBe(failed);
  });

  it('of a sync: a re-drive, but no dry run', async () => {
    const sync = await storedSync(store.db, own);
    const root = await storedRun(store.db, sync, { state: 'finished' });
    await storedRun(store.db, sync, { state: 'failed', dryRun: true });
    expect(await listedRun('sync', sync.identifier)).toBeNull();
    const redrive = await storedRun(store.db, sync, { state: 'failed', cause: 'redrive', rootId: root.id });
    expect(await listedRun('sync', sync.identifier)).toBe(redrive.identifier);
  });
});

describe('what needs attention', () => {
  let superadmin: World;

  beforeAll(async () => {
    superadmin = await makeWorld(store);
    await sql('UPDATE users SET superadmin = true WHERE id = $1', [superadmin.user.id]);
    const appId = await sampleApp(store.db, superadmin.entity.id);
    for (const place of PLACES) await SAMPLES[place]?.(superadmin, appId);
  });

  it.for(ATTENTION.map((source, ordinal) => ({ name: `${source.kind} ${source.object} (${ordinal})`, source })))(
    'is found by each source: $name',
    async ({ source }) => {
      const found = (await listed(superadmin.token)).filter(
        (item) => placeOf(item) === `${source.kind} ${source.object}`,
      );
      const sources = ATTENTION.filter(({ kind, object }) => kind === source.kind && object === source.object);
      expect(found.length).toBeGreaterThanOrEqual(sources.length);
      for (const { reason, since } of found)
        expect([reason.length > 0, Date.parse(since) <= Date.now() + 60_000]).toEqual([true, true]);
    },
  );

  it("is another entity's own", async () => {
    expect(await listed(world.token)).toEqual([]);
  });

  it('is shown by the right of its object alone', async () => {
    const all = await listed(superadmin.token);
    const { id } = superadmin.user;
    await sql('UPDATE users SET superadmin = false WHERE id = $1', [id]);
    try {
      for (const right of RIGHTS) {
        await sql('UPDATE memberships SET rights = $2, admin = false WHERE user_id = $1', [id, [right]]);
        const own = ATTENTION.filter(({ needs }) => needs.every((need) => need === right));
        const expected = new Set(own.map(({ kind, object }) => `${kind} ${object}`));
        expect([right, new Set((await listed(superadmin.token)).map(placeOf))]).toEqual([right, expected]);
      }
    } finally {
      await sql('UPDATE users SET superadmin = true WHERE id = $1', [id]);
    }
    expect(await listed(superadmin.token)).toEqual(all);
  });

  it('is listed newest first, page by page', async () => {
    const all = await listed(superadmin.token);
    const paged: Item[] = [];
    for (let next: string | null = '/api/attention?per_page=3'; next !== null;) {
      const { body } = await server.call('GET', next, { token: superadmin.token });
      paged.push(...body.result.attention);
      next = body.result.next && body.result.next.replace(/^https?:\/\/[^/]+/, '');
    }
    expect(paged).toEqual(all);
    const times = all.map(({ since }) => since);
    expect(times).toEqual(times.toSorted().toReversed());
    const paused = await listed(superadmin.token, '&kind=paused');
    expect(paused).toEqual(all.filter(({ kind }) => kind === 'paused'));
    // An outcome of a week ago, or one that its device confirmed, is none.
    const unknown = await listed(superadmin.token, '&kind=unknown_outcome');
    expect(unknown.map(({ reason }) => reason)).toEqual([expect.stringMatching(/^1 push has an unknown outcome: /)]);
    expect((await server.call('GET', '/api/attention?cursor=WyJ4Il0', { token: superadmin.token })).status).toBe(400);
  });

  it('is on the record of the job, too, until its step succeeds', async () => {
    const entityId = superadmin.entity.id;
    const imported = (await insertUpload(store.db, store, superadmin)).identifier;
    const run = (await storedRun(store.db, await storedSync(store.db, superadmin), { state: 'running' })).identifier;
    const sent = await insertSend(entityId, null);
    const asked = await insertRequest(entityId, 'delete', 'running');
    const records: [FailedStep['kind'], string, string, (result: never) => unknown][] = [
      ['import', imported, `/api/attribute_values/imports/${imported}`, ({ internal_error: error }: Shown) => error],
      ['sync', run, `/api/sync_runs/${run}`, ({ internal_error: error }: Shown) => error],
      ['send', sent, `/api/transac/${sent}`, ({ internal_error: error }: Shown) => error],
      ['delete', asked, `/api/gdpr/requests/${asked}`, ({ progress }: { progress: Shown }) => progress.internal_error],
    ];
    const faults = faultRecord(store.db, { info() {}, warn() {}, error() {} });
    const later = faultRecord(store.db, { info() {}, warn() {}, error() {} });
    for (const [kind, job, path, errorIn] of records) {
      const shown = async () =>
        errorIn((await server.call('GET', path, { token: superadmin.token })).body.result as never);
      const step = { entityId, kind, job, step: 'some' };
      await faults.failed(step, 'first');
      const { since } = (await shown()) as { since: string };
      await faults.failed(step, 'second');
      expect([kind, await shown()]).toEqual([kind, { id: 'second', since, step: 'some' }]);
      await later.settled({ ...step, step: 'another' }, 2);
      expect(await shown()).toMatchObject({ id: 'second' });
      // Another process took the next attempt.
      await later.settled(step, 2);
      expect([kind, await shown()]).toEqual([kind, null]);
    }
    // A flow begins with attempt 1 each time.
    const upkeep: FailedStep = { entityId, kind: 'feed', job: '', step: 'drainFeed' };
    await faults.failed(upkeep, 'third');
    await faultRecord(store.db, { info() {}, warn() {}, error() {} }).settled(upkeep, 1);
    expect((await listed(superadmin.token)).filter(({ object }) => object.type === 'feed')).toEqual([]);
  });

  it('is mailed to superadmins where it is an internal error, once an hour at most', async () => {
    const sent: Mail[] = [];
    const mailer: Mailer = {
      send: async (mail) => {
        sent.push(mail);
        return { outcome: 'filed' };
      },
      close: async () => {},
    };
    const { takeMailSlot } = openAllPlaces();
    const mail = () =>
      mailInternalErrors({ db: store.db, mailer, publicUrl: 'http://millrace.test', boundary: () => {}, takeMailSlot });
    // While all places are taken it waits for its own, and loses no turn.
    const full = await Promise.all(Array.from({ length: LIMITS.mails }, () => takeMailSlot(1)));
    const waiting = [mail(), mail(), mail()];
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
    for (const free of full) free();
    await Promise.all(waiting);
    expect(sent).toMatchObject([
      { to: [superadmin.user.email], text: expect.stringContaining('upkeep deleteExpired\n    since ') },
    ]);
    // An hour later: nothing new, then a new one.
    const later = () => sql(`UPDATE operator_notices SET sent_at = ${ago('61 minutes')}`);
    await later();
    await sql(`UPDATE internal_errors SET last_at = ${ago('2 hours')}`);
    await mail();
    expect(sent).toHaveLength(1);
    await fail({ entityId: null, kind: 'upkeep', job: '', step: 'deleteExpired' });
    await mail();
    await mail();
    expect(sent).toHaveLength(2);
  });

  it('is listed by the command line', async () => {
    const url = await server.app.listen({ port: 0, host: '127.0.0.1' });
    const { out } = await runMillrace(['attention', '--kind', 'provider_refuses'], { url, token: superadmin.token });
    expect(out).toMatch(/provider_refuses +app app_\w+ .* fcm refuses pushes: UNAUTHENTICATED +POST /);
    expect((await runMillrace(['attention'], { url, token: world.token })).out).toBe('Nothing needs attention.\n');
  });
});
