import { beforeAll, describe, expect, it } from 'vitest';
import { testStore, type TestStore } from '../../harness/database.ts';
import { deletionByDevice } from '../../harness/gdpr-requests.ts';
import { personId } from '../../harness/people.ts';
import { smtpServer } from '../../harness/smtp.ts';
import { makeWorld, type World } from '../../harness/world.ts';
import { gdprSweepSteps } from '../../../activities/gdpr/sweep.ts';
import { openMailer } from '../../../connectors/mail.ts';
import type { Files } from '../../../store/files.ts';
import { findGdprRequestById, type NewGdprRequest } from '../../../store/gdpr/requests.ts';

let store: TestStore;
let world: World;
let files: Files;
const mails = await smtpServer();
const mailer = openMailer({ smtpUrl: `smtp://127.0.0.1:${mails.port}`, outbox: '', from: 'millrace@example.com' });

beforeAll(async () => {
  store = await testStore();
  ({ files } = store);
  world = await makeWorld(store);
});

/** Nothing waits to be started. */
const sweep = () => gdprSweepSteps({
  ...store, files, mailer, publicUrl: 'http://127.0.0.1', temporal: undefined as never, boundary() {},
  log: { info() {}, warn() {}, error() {} },
}).careForRequests();

const waiting = (more: Partial<NewGdprRequest> = {}) =>
  deletionByDevice(store.db, world.entity.id, { userId: personId(1), deviceId: 'phone' }, more);

async function mailOf(id: number): Promise<{ mail_state: string; mail_tries: number } | undefined> {
  const { rows } = await store.db.query<{ mail_state: string; mail_tries: number }>(
    'SELECT mail_state, mail_tries FROM gdpr_mails WHERE request_id = $1', [id]);
  return rows[0];
}

const age = (id: number, minutes: number) =>
  store.db.query(`UPDATE gdpr_mails SET tried_at = tried_at - make_interval(mins => $2) WHERE request_id = $1`, [id, minutes]);

describe('the sweep, of requests', () => {
  it('tries a mail that no server took again, after longer and longer', async () => {
    const { id } = await waiting({ emails: ['dpo@example.com'] });
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

  it('does not look each time at one of which there is nobody to tell; one whose mail was broken off before it began gets it', async () => {
    const [nobodys, brokenOff] = [await waiting(), await waiting({ emails: ['dpo@example.com'] })];
    await store.db.query(
      `INSERT INTO gdpr_mails (entity_id, request_id, kind, identifier) VALUES ($1, $2, 'waiting', 'x')`, [world.entity.id, brokenOff.id]);
    await sweep();
    await sweep();
    expect(await mailOf(nobodys.id)).toEqual({ mail_state: 'not_sent', mail_tries: 1 });
    expect(await mailOf(brokenOff.id)).toMatchObject({ mail_state: 'sent' });
  });

  it('mails, and takes others away, though the files of one of them can\'t be deleted', async () => {
    const over = [await waiting({ state: 'waiting' }), await waiting({ state: 'waiting' })];
    for (const { id } of over) {
      await store.db.query(
        `UPDATE gdpr_requests SET state = 'declined', expires_at = now() - make_interval(secs => 1000 - id) WHERE id = $1`, [id]);
    }
    const late = await waiting({ emails: ['dpo@example.com'] });
    files = {
      ...store.files, list: (prefix: string) => {
        if (prefix.includes(over[0]!.identifier)) throw new Error('the file store is away');
        return store.files.list(prefix);
      },
    };
    await sweep();
    expect(await mailOf(late.id)).toMatchObject({ mail_state: 'sent' });
    const left = await Promise.all(over.map(({ id }) => findGdprRequestById(store.db, world.entity.id, id)));
    expect(left.map((request) => request !== null)).toEqual([true, false]);
  });
});
