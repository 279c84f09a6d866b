import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient, Refusal } from '../../api/client.ts';
import { JOB_KINDS, type JobKind } from '../../domain/jobs/job.ts';
import { type Database, openDatabase } from '../../store/core/database.ts';
import { STORED_JOBS } from '../../store/jobs/jobs.ts';
import type { Finding as Found } from '../harness/jobs/whole-search.ts';
import { checkCounts } from './counts.ts';
import type { Life, LifeEntity } from './life.ts';
import { markOfEntity, MARK, PEOPLE } from './people.ts';
import { searchKept } from './search-kept.ts';
import { shownText } from './traits.ts';
import type { ValueModel } from './value-model.ts';
import { COPY, type Walk, withoutIds } from './walk.ts';

/** What has to hold once a walk is over and nothing changes any more. */

/** All of it together may take this long; each wait, too. */
const ENDS_WITHIN_MS = 600_000;
/** Nothing has changed for so long: then nothing will. */
const QUIET_MS = 30_000;
const BETWEEN_LOOKS_MS = 2_000;

/** Tables that reading changes, or that a sweep writes to without any work. */
const WITHOUT_WORK = ['audit_log', 'tokens', 'login_attempts', 'service_tokens'];

/**
 * Texts in which staff type the id of a person who is erased already. They stay until they expire, or until a deletion
 * names the id again: no deletion can be requested for a device without a person.
 */
const TYPED_AFTER_ERASURE = ['file_jobs.query'];
/** The same in a copy, which no deletion names again. */
const TYPED_IN_COPY = [
  ...TYPED_AFTER_ERASURE,
  'segments.filters',
  'funnels.steps',
  'campaigns.filters',
  'idempotent_requests.reply',
];

/** Sought by the mark that all texts of people carry. */
const SOMEBODY = 'somebody';

type Say = (line: string) => void;
type Ending = { life: Life; walk: Walk; db: Database; say: Say };

export async function checkEndings(life: Life, walk: Walk, say: Say): Promise<void> {
  const { service } = life;
  const db = openDatabase({ url: service.databaseUrl, max: 3, name: 'life' });
  const ending = { life, walk, db, say };
  try {
    await settled(ending);
    await checkJobs(ending);
    for (const { what, details } of await service.faults()) walk.note(withoutIds(what), details, null);
    for (const entity of life.entities) await checkEntity(ending, entity);
    const [alpha, beta] = life.entities as [LifeEntity, LifeEntity];
    await eraseEverybody(ending, alpha);
    await expectGone(ending, 'once all people of alpha were erased', {
      'what alpha was told': markOfEntity(alpha.name),
    });
    await checkEntity(ending, beta);
    await eraseEverybody(ending, beta);
    await expectNobody(ending, 'once everybody was erased', ({ where }) => TYPED_AFTER_ERASURE.includes(where));
  } finally {
    await db.end();
  }
  if (walk.counts.has('copy the database')) await checkRestored({ life, walk, say });
}

/** Replaces the database by the copy of the middle, and checks that no erased person comes back. */
async function checkRestored({ life, walk, say }: Omit<Ending, 'db'>): Promise<void> {
  const { service } = life;
  say('restoring the copy of the middle');
  await service.end(['work', 'serve']);
  await service.restoreDatabase(COPY);
  for (const part of ['serve', 'work'] as const) await service.begin(part);
  await service.ready();
  const db = openDatabase({ url: service.databaseUrl, max: 3, name: 'life' });
  try {
    const ending = { life, walk, db, say };
    for (const entity of life.entities) {
      await releaseHolds(clientOf(life, entity));
      await requestsTreated(ending, entity);
    }
    await settled(ending);
    const erased = PEOPLE.filter(({ userId }) => walk.askedBeforeCopy.has(userId)).map(({ name }) => name);
    await expectNobody(
      ending,
      'after a restore of the copy of the middle',
      ({ where, what }) =>
        TYPED_IN_COPY.includes(where) && (what === SOMEBODY || erased.some((name) => what.startsWith(`${name},`))),
    );
  } finally {
    await db.end();
  }
}

/** Waits until no row has changed for QUIET_MS. */
async function settled({ db, walk, say }: Ending): Promise<void> {
  const until = Date.now() + ENDS_WITHIN_MS;
  let [last, since] = [await changesOf(db), Date.now()];
  while (Date.now() - since < QUIET_MS) {
    await delay(BETWEEN_LOOKS_MS);
    const now = await changesOf(db);
    const changed = [...now].filter(([table, changes]) => changes !== last.get(table)).map(([table]) => table);
    if (changed.length > 0) [last, since] = [now, Date.now()];
    if (Date.now() > until) return walk.note('rows still change 10 minutes after the end', changed.join(', '), null);
  }
  say('nothing changes any more');
}

/** By table: the number of rows that were ever inserted, updated or deleted. */
async function changesOf(db: Database): Promise<Map<string, number>> {
  const { rows } = await db.query<{ table: string; changes: number }>(
    `SELECT relname AS table, n_tup_ins + n_tup_upd + n_tup_del AS changes FROM pg_stat_user_tables WHERE relname <> ALL ($1)`,
    [WITHOUT_WORK],
  );
  return new Map(rows.map(({ table, changes }) => [table, Number(changes)]));
}

type Open = { entity_id: number; identifier: string; job: Record<string, unknown> };

/**
 * Each job has ended, or says what it waits for: a deletion may wait five minutes for an upload that was broken off.
 */
async function checkJobs({ db, walk }: Ending): Promise<void> {
  const until = Date.now() + ENDS_WITHIN_MS;
  let open = await listUnexplained(db);
  while (open.length > 0 && Date.now() < until) {
    await delay(BETWEEN_LOOKS_MS);
    open = await listUnexplained(db);
  }
  for (const { kind, job } of open) {
    walk.note(`${kind}: a job has neither ended nor says what it waits for`, JSON.stringify(job).slice(0, 1_500), null);
  }
}

async function listUnexplained(db: Database): Promise<(Open & { kind: JobKind })[]> {
  const unexplained: (Open & { kind: JobKind })[] = [];
  for (const kind of JOB_KINDS) {
    const { table, only = 'true' } = STORED_JOBS[kind];
    const { rows } = await db.query<Open>(
      `SELECT j.entity_id, j.identifier, to_jsonb(j) AS job FROM ${table} j
       WHERE ${only} AND state IN ('accepted', 'running') ORDER BY j.entity_id, j.id`,
    );
    for (const open of rows) if (!(await hasReason(db, kind, open))) unexplained.push({ kind, ...open });
  }
  return unexplained;
}

async function hasReason(
  db: Database,
  kind: JobKind,
  { entity_id: entityId, identifier, job }: Open,
): Promise<boolean> {
  if (typeof job.fault === 'string') return true;
  // A campaign lives until its end; a send until its last message is due.
  if (kind === 'campaign') return true;
  if (kind === 'send') {
    const { rowCount } = await db.query(
      `SELECT FROM attempts a JOIN sends s ON s.entity_id = a.entity_id AND s.id = a.send_id
       WHERE s.entity_id = $1 AND s.identifier = $2 AND a.due_at > now()`,
      [entityId, identifier],
    );
    return rowCount! > 0 || Date.parse(String(job.send_at)) > Date.now();
  }
  if (kind === 'access' || kind === 'delete') {
    const { rowCount } = await db.query('SELECT FROM gdpr_holds WHERE entity_id = $1', [entityId]);
    return rowCount! > 0;
  }
  return false;
}

/**
 * The values are those that the last acknowledged writes or the latest calls left, and lists, counts and files say the
 * same.
 */
async function checkEntity({ life, walk }: Ending, entity: LifeEntity): Promise<void> {
  const client = clientOf(life, entity);
  await noteEnds(client, entity);
  await checkValues(client, walk, entity, entity.values, entity.sor.identifier);
  await checkValues(client, walk, entity, entity.traits, entity.app.sor);
  await checkTypes(client, walk, entity);
  for (const broken of await checkCounts(client, entity))
    walk.note(broken.what, `${entity.name}: ${broken.details}`, null);
}

async function checkValues(
  client: Client,
  walk: Walk,
  entity: LifeEntity,
  values: ValueModel,
  sor: string,
): Promise<void> {
  for (const [person, written] of Map.groupBy(values.written(), (write) => write.person)) {
    if (entity.erasures.has(person)) continue;
    const [profile] = await client.viewCustomerProfile({
      params: { customer_id: person },
      query: { customer_id_type: 'user_id' },
    });
    for (const { attribute } of written) {
      const value = shownText(profile?.attributes[sor]?.[attribute]);
      const possible = values.possible(person, attribute);
      if (possible.has(value)) continue;
      walk.note(
        `${attribute}: another value than the one that counts as the last`,
        `${entity.name}: ${person} has ${value}, and may have ${[...possible].join(', ')}\n${values.tell(person, attribute)}`,
        null,
      );
    }
  }
}

/**
 * The types of the attributes that traits have made are those of their values, or String once there were values of
 * several types.
 */
async function checkTypes(client: Client, walk: Walk, { name, app, traits }: LifeEntity): Promise<void> {
  const { customer_attributes: attributes } = await client.viewSystemOfRecord({ params: { sor_identifier: app.sor } });
  for (const attribute of new Set(traits.written().map((write) => write.attribute))) {
    const type = attributes.find(({ key }) => key === attribute)?.value_type;
    const possible = traits.possibleTypes(attribute);
    if (possible.size === 0 || (type && possible.has(type))) continue;
    walk.note(
      `${attribute}: another type than that of its values`,
      `${name}: ${type ?? 'no attribute'}, and may be ${[...possible].join(', ')}`,
      null,
    );
  }
}

/** Of the jobs whose end the walk has not seen. */
async function noteEnds(client: Client, entity: LifeEntity): Promise<void> {
  for (const { id } of entity.items('import')) {
    entity.values.ended(id, {
      isComplete: (await client.viewImport({ params: { import_id: id } })).state === 'finished',
    });
  }
  for (const { id } of entity.items('feed')) entity.values.ended(id, { isComplete: true });
  for (const { id, of = '' } of entity.items('sync run')) {
    const run = await client.viewSyncRun({ params: { sync_id: of, run_id: id } }).catch(ifRefused);
    entity.values.ended(id, {
      isComplete: run?.state === 'finished' && run.records.failed + run.records.ignored === 0,
    });
  }
}

/** Asks for the deletion of all people, and waits until it is done. */
async function eraseEverybody(ending: Ending, entity: LifeEntity): Promise<void> {
  const client = clientOf(ending.life, entity);
  ending.say(`erasing everybody of ${entity.name}`);
  await releaseHolds(client);
  for (const { userId, deviceId } of PEOPLE) {
    // A device that was used without a user has no person: they say that it is theirs, or ask for its own data's
    // deletion.
    await client
      .sendIdentify({ body: { writeKey: entity.app.apiKey, userId, context: { device: { id: deviceId } } } })
      .catch(ifRefused);
    await client
      .requestPrivacyFromDevice({ body: { writeKey: entity.app.apiKey, type: 'delete', deviceId } })
      .catch(ifRefused);
  }
  await client.requestDeletion({
    body: { users: PEOPLE.flatMap(({ userId, alias }) => [userId, alias]), skip_email: true },
  });
  await requestsTreated(ending, entity);
}

/** Approves what waits for it, and waits for the end of all requests. */
async function requestsTreated({ life, walk }: Ending, entity: LifeEntity): Promise<void> {
  const client = clientOf(life, entity);
  const until = Date.now() + ENDS_WITHIN_MS;
  for (;;) {
    const requests = await Array.fromAsync(client.each.listGdprRequests());
    for (const { request_id: id, state } of requests) {
      if (state === 'waiting') await client.approveGdprRequest({ params: { request_id: id } });
    }
    const open = requests.filter(({ state }) => state !== 'treated' && state !== 'declined');
    if (open.length === 0) return;
    if (Date.now() > until) {
      const [{ request_id: id, type }] = open as [(typeof open)[0]];
      const status = await client.viewGdprRequest({ params: { request_id: id } });
      return walk.note(
        `${type}: a request is not treated after 10 minutes`,
        JSON.stringify(status).slice(0, 2_000),
        null,
      );
    }
    await delay(BETWEEN_LOOKS_MS);
  }
}

/** Nothing names anybody: not even their requests, once their week is over. */
async function expectNobody(ending: Ending, when: string, isLeftOut: (finding: Found) => boolean): Promise<void> {
  await endWeekOfRequests(ending);
  const people = PEOPLE.flatMap(({ name, userId, deviceId }) => [
    [`${name}, by user id`, userId],
    [`${name}, by device id`, deviceId],
  ]);
  await expectGone(
    ending,
    when,
    { [SOMEBODY]: MARK, ...(Object.fromEntries(people) as Record<string, string>) },
    isLeftOut,
  );
}

async function endWeekOfRequests({ db, walk }: Ending): Promise<void> {
  const until = Date.now() + ENDS_WITHIN_MS;
  for (;;) {
    await db.query(`UPDATE gdpr_requests SET expires_at = now() WHERE state IN ('treated', 'declined')`);
    const {
      rows: [left],
    } = await db.query<{ count: string }>('SELECT count(*) FROM gdpr_requests');
    if (Number(left!.count) === 0) return;
    if (Date.now() > until) return walk.note('requests stay after their week', `${left!.count} of them`, null);
    await delay(BETWEEN_LOOKS_MS);
  }
}

async function expectGone(
  { life, walk, db, say }: Ending,
  when: string,
  sought: Record<string, string>,
  isLeftOut: (finding: Found) => boolean = () => false,
): Promise<void> {
  const findings = (await searchKept(life.service, db, sought)).filter((finding) => !isLeftOut(finding));
  for (const { where, what, through } of findings) {
    const place = where.replace(/^(files: [^/]+\/).*/, '$1…').replaceAll(/\d+/g, '<n>');
    walk.note(
      `${when}: a person is still named in ${place}`,
      [`${what} in ${where}`, ...through].join(', through '),
      null,
    );
  }
  say(`searched everything ${when}: ${findings.length} findings`);
}

async function releaseHolds(client: Client): Promise<void> {
  const holds = await Array.fromAsync(client.each.listGdprHolds());
  for (const { identifier } of holds) await client.releaseGdprHold({ params: { hold_id: identifier } });
}

/** Somebody who is erased already is refused. */
function ifRefused(error: unknown): void {
  if (!(error instanceof Refusal) || error.http >= 500) throw error;
}

function clientOf({ service }: Life, { token }: LifeEntity): Client {
  return createClient({ url: service.url, token });
}
