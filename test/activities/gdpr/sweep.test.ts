import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import { gdprSweepSteps } from '../../../activities/gdpr/sweep.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import type { Right } from '../../../domain/accounts/rights.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { write } from '../../../store/core/database.ts';
import { countNotedFiles, deleteNotedFiles } from '../../../store/core/file-deletions.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import { asBytes, type Files } from '../../../store/core/files.ts';
import { archivePrefix } from '../../../store/gdpr/archives.ts';
import { findGdprRequestById, type NewGdprRequest } from '../../../store/gdpr/requests.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { deletionByDevice } from '../../harness/gdpr/gdpr-requests.ts';

let store: TestStore;
let world: World;
/** Of which devices ask, and one that names the world's user to be told. */
let app: number;
let telling: number;
let files: Files;
const mails = await smtpServer();
const mailer = openMailer({
  smtpUrl: `smtp://127.0.0.1:${mails.port}`,
  outbox: folderFiles('/none'),
  from: 'millrace@example.com',
});

beforeAll(async () => {
  store = await testStore();
  ({ files } = store);
  world = await makeWorld(store);
  app = (await insertSampleApp(store.db, world.entity.id, 'com.example.silent')).id;
  telling = (await insertSampleApp(store.db, world.entity.id, 'com.example.telling')).id;
  await nameInApp(telling, [world.user.email]);
});

const nameInApp = (id: number, emails: string[]) =>
  store.db.query('UPDATE apps SET gdpr_emails = $2 WHERE id = $1', [id, emails]);

/** Nothing waits to be started. */
const sweep = (boundary: (name: string) => void = () => {}, mailsWithinMs?: number) =>
  gdprSweepSteps(
    {
      ...store,
      ...openAllPlaces(),
      files,
      mailer,
      publicUrl: 'http://127.0.0.1',
      temporal: undefined as never,
      boundary,
      log: { info() {}, warn() {}, error() {} },
    },
    mailsWithinMs,
  ).careForRequests();

const waiting = (more: Partial<NewGdprRequest> = {}) =>
  deletionByDevice(store.db, world.entity.id, { userId: personId(1), deviceId: 'phone' }, { appId: app, ...more });

async function mailOf(id: number): Promise<{ mail_state: string; mail_tries: number } | undefined> {
  const { rows } = await store.db.query<{ mail_state: string; mail_tries: number }>(
    'SELECT mail_state, mail_tries FROM gdpr_mails WHERE request_id = $1',
    [id],
  );
  return rows[0];
}

const age = (id: number, minutes: number) =>
  store.db.query(`UPDATE gdpr_mails SET tried_at = tried_at - make_interval(mins => $2) WHERE request_id = $1`, [
    id,
    minutes,
  ]);

describe('the sweep, of requests', () => {
  it('tries a mail that no server took again, after longer and longer', async () => {
    const { id } = await waiting({ appId: telling });
    mails.behave({ sender: 451 });
    for (let times = 0; times < 3; times += 1) await sweep();
    expect(await mailOf(id)).toEqual({ mail_state: 'not_sent', mail_tries: 1 });
    await age(id, 1);
    await sweep();
    await age(id, 1);
    await sweep();
    expect(await mailOf(id)).toEqual({ mail_state: 'not_sent', mail_tries: 2 });
    await age(id, 4);
    mails.behave({});
    await sweep();
    expect(await mailOf(id)).toEqual({ mail_state: 'sent', mail_tries: 3 });
  });

  it('begins no more mails once its time for them is over, and the next sweep begins with another entity', async () => {
    const other = await makeWorld(store);
    const requests = [await waiting({ appId: telling }), await waiting({ appId: telling })];
    const { id: app } = await insertSampleApp(store.db, other.entity.id, 'com.example.other');
    await nameInApp(app, [other.user.email]);
    requests.push(
      await deletionByDevice(store.db, other.entity.id, { userId: personId(1), deviceId: 'phone' }, { appId: app }),
    );
    const sent = async () => (await Promise.all(requests.map(({ id }) => mailOf(id)))).map((mail) => mail?.mail_state);
    await sweep(undefined, 0);
    expect(await sent()).toEqual(['sent', undefined, undefined]);
    await sweep(undefined, 0);
    await sweep(undefined, 0);
    expect(await sent()).toEqual(['sent', 'sent', 'sent']);
  });

  it('does not look each time at one of which there is nobody to tell; one whose mail was broken off before it began gets it', async () => {
    const [nobodys, brokenOff] = [await waiting(), await waiting({ appId: telling })];
    await store.db.query(
      `INSERT INTO gdpr_mails (entity_id, request_id, kind, identifier) VALUES ($1, $2, 'waiting', 'x')`,
      [world.entity.id, brokenOff.id],
    );
    await sweep();
    await sweep();
    expect(await mailOf(nobodys.id)).toEqual({ mail_state: 'not_sent', mail_tries: 1 });
    expect(await mailOf(brokenOff.id)).toMatchObject({ mail_state: 'sent' });
  });

  it("mails, and takes others away, though the files of one of them can't be deleted", async () => {
    const over = [await waiting({ state: 'waiting' }), await waiting({ state: 'waiting' })];
    for (const { id } of over) {
      await store.db.query(
        `UPDATE gdpr_requests SET state = 'declined', expires_at = now() - make_interval(secs => 1000 - id) WHERE id = $1`,
        [id],
      );
    }
    const late = await waiting({ appId: telling });
    files = {
      ...store.files,
      list: (prefix: string) => {
        if (prefix.includes(over[0]!.identifier)) throw new Error('the file store is away');
        return store.files.list(prefix);
      },
    };
    await sweep();
    expect(await mailOf(late.id)).toMatchObject({ mail_state: 'sent' });
    const left = await Promise.all(over.map(({ id }) => findGdprRequestById(store.db, world.entity.id, id)));
    expect(left.map((request) => request !== null)).toEqual([true, false]);
  });

  it('discards a request, and its archives although a sweep ended before it deleted them, also with two sweeps at once', async () => {
    const request = await waiting({ state: 'waiting' });
    const { id } = request;
    await store.db.query(
      `UPDATE gdpr_requests SET state = 'declined', expires_at = now() - interval '1 second' WHERE id = $1`,
      [id],
    );
    files = store.files;
    const key = `${archivePrefix(request)}1`;
    await files.put(key, asBytes('an archive'));
    await sweep(() => {
      throw new Error('the worker ends');
    });
    expect([await findGdprRequestById(store.db, world.entity.id, id), await files.size(key)]).toEqual([null, 10]);
    const deletions = () => deleteNotedFiles(store, world.entity.id, 'access/');
    await Promise.all([sweep(), sweep(), deletions(), deletions()]);
    expect([await files.size(key), await countNotedFiles(store.db, world.entity.id, '')]).toEqual([null, 0]);
  });

  it('mails of requests from devices to those of gdpr_emails alone who are members with gdpr_data_manage then', async () => {
    const [holder, other, gone] = [
      await insertMember(['gdpr_data_manage']),
      await insertMember(['apps_manage']),
      await insertMember(['gdpr_data_manage']),
    ];
    const elsewhere = await makeWorld(store);
    await nameInApp(app, [
      holder.email.toUpperCase(),
      other.email,
      gone.email,
      elsewhere.user.email,
      'nobody@example.com',
    ]);
    const { id, identifier } = await waiting();
    await store.db.query('DELETE FROM memberships WHERE user_id = $1', [gone.id]);
    await sweep();
    expect(recipientsOf(identifier)).toEqual([[holder.email]]);
    expect(await findGdprRequestById(store.db, world.entity.id, id)).toMatchObject({ emails: [holder.email] });
    await nameInApp(app, []);
  });

  it('tells all who may see it of one whose 30 days run out, though its app names nobody', async () => {
    const { id, identifier } = await waiting();
    await store.db.query(`UPDATE gdpr_requests SET received_at = now() - interval '26 days' WHERE id = $1`, [id]);
    const { rows } = await store.db.query<{ email: string }>(
      `SELECT email FROM users u JOIN memberships m ON m.user_id = u.id
       WHERE m.entity_id = $1 AND 'gdpr_data_manage' = ANY (m.rights) ORDER BY u.id`,
      [world.entity.id],
    );
    await sweep();
    expect(recipientsOf(identifier)).toEqual([rows.map(({ email }) => email)]);
    const { rows: states } = await store.db.query(
      'SELECT kind, mail_state FROM gdpr_mails WHERE request_id = $1 ORDER BY kind',
      [id],
    );
    expect(states).toEqual([
      { kind: 'near_deadline', mail_state: 'sent' },
      { kind: 'waiting', mail_state: 'not_sent' },
    ]);
  });
});

describe('requests from devices without a user token', () => {
  const from = (device: string, more: Partial<NewGdprRequest> = {}) =>
    deletionByDevice(store.db, world.entity.id, { userId: null, deviceId: device }, { appId: telling, ...more });
  const told = () =>
    mails.received.map(({ mail }) => `${mail.headers.subject} ${mail.text}`).filter((text) => text.includes('device'));

  it('300 of them are told of in one mail an hour of their app', async () => {
    const before = mails.received.length;
    const requests = await Promise.all(Array.from({ length: 300 }, (_, nth) => from(`made up ${nth}`)));
    const declined = requests[0]!;
    await store.db.query(`UPDATE gdpr_requests SET state = 'declined' WHERE id = $1`, [declined.id]);
    mails.behave({ sender: 451 });
    await sweep();
    mails.behave({});
    requests.push(await from('joins what is not sent yet'));
    await sweep();
    expect(mails.received.length).toBe(before);
    await store.db.query(
      `UPDATE gdpr_mails SET tried_at = tried_at - interval '3 minutes' WHERE digest_id IS NOT NULL`,
    );
    await sweep();
    expect(mails.received.length).toBe(before + 1);
    expect(mails.received.at(-1)!.to).toEqual([world.user.email]);
    expect(told().at(-1)).toContain('Privacy requests from devices: 300 deletions wait for approval');
    expect(told().at(-1)).toContain('and 250 more');
    expect(told().at(-1)).not.toContain(declined.identifier);
    const next = await from('after the digest');
    const treated = await from('treated', {
      state: 'accepted',
      type: 'access',
      people: [{ userId: null, deviceId: 'treated' }],
    });
    await store.db.query(
      `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + interval '7 days' WHERE id = $1`,
      [treated.id],
    );
    await sweep();
    expect(mails.received.length).toBe(before + 1);
    await store.db.query(`UPDATE gdpr_mails SET tried_at = tried_at - interval '1 hour' WHERE digest_id IS NOT NULL`);
    await sweep();
    await sweep();
    expect(mails.received.length).toBe(before + 2);
    expect(told().at(-1)).toContain('1 deletion waits for approval, 1 access treated');
    expect(told().at(-1)).toContain(next.identifier);
    const { rows } = await store.db.query(
      `SELECT mail_state, count(*)::integer FROM gdpr_mails WHERE digest_id IS NOT NULL AND request_id = ANY ($1) GROUP BY mail_state`,
      [[...requests, next, treated].map(({ id }) => id)],
    );
    expect(rows).toEqual([{ mail_state: 'sent', count: 302 }]);
  });
});

/** Whom each mail about a request was for. */
const recipientsOf = (identifier: string) =>
  mails.received.filter(({ mail }) => mail.headers.subject?.includes(identifier)).map(({ to }) => to);

const insertMember = (rights: Right[]) =>
  write(store.db, async (tx) => {
    const email = `member-${randomBytes(6).toString('hex')}@example.com`;
    const user = await insertUser(tx, { email, passwordHash: '', preferedEntityId: world.entity.id });
    await insertMembership(tx, { userId: user.id, entityId: world.entity.id, rights, admin: false });
    return user;
  });
