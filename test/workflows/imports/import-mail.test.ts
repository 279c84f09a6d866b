import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { PLACES } from '../../../domain/core/limits.ts';
import { MAX_MAIL_RECIPIENTS_A_DAY } from '../../../store/core/mails.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId, PERSON_MARK } from '../../harness/core/people.ts';
import { parseMail, smtpServer } from '../../harness/core/smtp.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import type { TestWorker } from '../../harness/core/workers.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { insertSampleCampaign, insertSampleDevice, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';

const HEADER = 'user_id,attribute_key,value,action_type\n';
const stack = useStack({ impatient: true });
let smtp: Awaited<ReturnType<typeof smtpServer>>;
let world: World;

beforeAll(async () => {
  smtp = await smtpServer();
  world = await makeWorld(stack.store);
});

const startWorker = (kill?: { boundary: string; hit: number }): TestWorker =>
  stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${smtp.port}`, ...(kill ? { kill } : {}) });

const post = (fields: Record<string, string> = { skip_email: 'false' }, file?: string | Buffer) =>
  postImport(stack.app, world, file ?? `${HEADER}${personId(1)},plan,gold,\n${personId(1)},score,many,\n`, { fields });

const mailOf = (id: string) =>
  waitFor('what came of the mail', async () => {
    const job = await findImport(stack.store.db, world.entity.id, id);
    return job!.mail && job!.mail.state !== 'sending' ? job!.mail : null;
  });

const received = (id: string) => smtp.received.filter(({ mail }) => mail.headers.subject!.includes(id));

describe('the mail at the end of an import', () => {
  it('goes to the creator of the SoR, with counts and a link, and nothing of the file', async () => {
    const worker = startWorker();
    const id = await post();
    expect(await mailOf(id)).toEqual({ state: 'sent', tries: 1, reason: null });
    const [{ to, mail }] = received(id) as [ReturnType<typeof received>[number]];
    expect(to).toEqual([world.user.email]);
    expect(mail.headers.subject).toBe(`Import ${id} into ${world.sor.identifier}: 1 of 2 rows ok, 1 failed`);
    expect(mail.text).toContain(`http://millrace.test/api/attribute_values/imports/${id}`);
    expect(mail.text).toMatch(/INVALID_VALUE +1/);
    expect(mail.text).not.toContain(PERSON_MARK);
    await worker.stop();
  });

  it('goes to those who are named for the SoR, also for a file that could not be imported', async () => {
    const named = await stack.app.inject({
      method: 'PUT',
      url: `/api/system_of_records/${world.sor.identifier}/notify_emails`,
      headers: { authorization: `Token ${world.token}` },
      payload: { notify_emails: ['one@example.com', 'two@example.com'] },
    });
    expect(named.json()).toMatchObject({ result: { notify_emails: ['one@example.com', 'two@example.com'] } });
    smtp.behave({ recipients: { 'two@example.com': 550 } });
    const worker = startWorker();
    const id = await post({ skip_email: 'false' }, 'no header at all, see evil.example\n');
    expect(await mailOf(id)).toMatchObject({ state: 'sent', reason: 'the mail server refused 1 of 2 recipients' });
    expect(received(id)).toMatchObject([
      { to: ['one@example.com'], mail: { headers: { subject: expect.stringContaining('failed') } } },
    ]);
    expect(received(id)[0]!.mail.text).not.toContain('evil.example');
    const cut = await post(
      { skip_email: 'false' },
      gzipSync(`${HEADER}${personId(1)},plan,gold,\n`, { level: 0 }).subarray(0, -8),
    );
    await mailOf(cut);
    expect(received(cut)[0]!.mail.text).toMatch(/has finished\.\nThe end of the file could not be read/);
    smtp.behave({});
    await worker.stop();
  });

  it("is not sent once the entity's mails have reached all the recipients of a day, and says so", async () => {
    const counter = async (sql: string) =>
      (await stack.store.db.query<{ recipients: number }>(sql, [world.entity.id])).rows;
    const counted = async () =>
      (await counter('SELECT recipients FROM notify_mails WHERE entity_id = $1'))[0]!.recipients;
    const before = await counted();
    const worker = startWorker();
    await mailOf(await post());
    expect(await counted()).toBe(before + 2);
    await counter(`UPDATE notify_mails SET recipients = ${MAX_MAIL_RECIPIENTS_A_DAY - 1} WHERE entity_id = $1`);
    const late = await post();
    expect(await mailOf(late)).toEqual({
      state: 'not_sent',
      tries: 1,
      reason: "the entity's mails of this day (UTC) have reached 1,000 recipients",
    });
    expect(received(late)).toEqual([]);
    await counter('UPDATE notify_mails SET day = day - 1 WHERE entity_id = $1');
    expect(await mailOf(await post())).toMatchObject({ state: 'sent' });
    await worker.stop();
  });

  it('is not sent where none is wanted', async () => {
    const worker = startWorker();
    const id = await post({ skip_email: 'true' });
    await importEnded(stack.store, world, id);
    await waitFor(
      "the workflow's end",
      async () => (await stack.temporal.workflow.getHandle(`import/${id}`).describe()).status.name === 'COMPLETED',
    );
    expect((await findImport(stack.store.db, world.entity.id, id))!.mail).toBeNull();
    expect(received(id)).toEqual([]);
    await worker.stop();
  });

  it('that the server refuses for good says so, and the import is finished all the same', async () => {
    smtp.behave({ sender: 550 });
    const worker = startWorker();
    const id = await post();
    expect(await mailOf(id)).toMatchObject({ state: 'not_sent', tries: 1, reason: expect.stringContaining('550') });
    expect((await findImport(stack.store.db, world.entity.id, id))!.state).toBe('finished');
    smtp.behave({});
    await worker.stop();
  });

  it.each(['import: mail noted', 'import: mail sent'])(
    'is not sent again after a kill at "%s": nobody knows whether it arrived',
    async (boundary) => {
      const doomed = startWorker({ boundary, hit: 1 });
      const id = await post();
      expect((await doomed.ended).signal).toBe('SIGKILL');
      const worker = startWorker();
      expect(await mailOf(id)).toMatchObject({ state: 'unknown', tries: 1 });
      expect(received(id)).toHaveLength(boundary === 'import: mail sent' ? 1 : 0);
      await worker.stop();
    },
  );

  it('lies in the outbox where there is no mail server', async () => {
    const worker = stack.startWorker();
    const id = await post();
    expect(await mailOf(id)).toMatchObject({ state: 'filed', reason: expect.stringContaining('SMTP_URL') as string });
    const outbox = join(stack.store.filesFolder, 'outbox');
    const mails = await Promise.all(
      (await readdir(outbox)).map(async (name) => parseMail(await readFile(join(outbox, name)))),
    );
    expect(mails.map(({ headers }) => headers.subject)).toEqual([
      `Import ${id} into ${world.sor.identifier}: 1 of 2 rows ok, 1 failed`,
    ]);
    await worker.stop();
  });

  it('holds up no message of another entity while the mail server is slow, nor more mails at once than there are places', async () => {
    const {
      store: { db },
    } = stack;
    const neighbour = await makeWorld(stack.store);
    const app = await insertSampleApp(db, neighbour.entity.id, 'com.example.neighbour');
    await insertSampleDevice(db, neighbour.entity.id, app.id, 'phone', { userId: 'ada' });
    const { identifier } = await insertSampleCampaign(db, neighbour.entity.id, app.id, {
      params: { ...PUSH_PARAMS, push_message: 'Hello' },
    });
    smtp.behave({ sender: 'silence' });
    const worker = startWorker();
    const slow = await Promise.all(Array.from({ length: PLACES.mails + 4 }, () => post()));
    const sending = async () =>
      (await db.query(`SELECT FROM imports WHERE identifier = ANY ($1) AND mail_state = 'sending'`, [slow])).rowCount;
    await waitFor('as many mails under way as may be', async () => (await sending()) === PLACES.mails);
    const reply = await stack.app.inject({
      method: 'POST',
      url: '/api/transac',
      headers: { authorization: `Token ${neighbour.token}` },
      payload: { campaignKey: [identifier], messages: [{ user: 'ada' }] },
    });
    expect(reply.statusCode).toBe(200);
    await waitFor(
      "the other entity's message",
      async () =>
        (await db.query(`SELECT FROM attempts WHERE entity_id = $1 AND code = 'PUSH_SENT'`, [neighbour.entity.id]))
          .rowCount === 1,
    );
    expect(await sending()).toBe(PLACES.mails);
    smtp.behave({});
    await worker.kill();
  });
});
