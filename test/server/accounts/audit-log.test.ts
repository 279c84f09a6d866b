import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { type AuditEntry, insertAuditEntry } from '../../../store/accounts/audit-log.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server } = useServer();
let world: World;

type Shown = { id: number; subject: string | null; action: string; actor_kind: string; customer_hash: string | null };
type Page = { entries: Shown[]; next: string | null };

const read = async (query: Record<string, string> = {}, own = world) =>
  (await server.call('GET', `/api/audit_log?${new URLSearchParams(query)}`, { token: own.token })).body.result as Page;
const note = (entry: Partial<AuditEntry> = {}, own = world) =>
  insertAuditEntry(store.db, own.entity.id, { actorKind: 'system', action: 'update', subjectKind: 'import', ...entry });
const subjects = (entries: Shown[]) => entries.map(({ subject }) => subject);

describe('the audit log', () => {
  test('shows who did what, newest first, and of its entity alone', async () => {
    world = await makeWorld(store);
    const other = await makeWorld(store);
    await note({ subject: 'elsewhere' }, other);
    await server.call('POST', '/api/system_of_records', { token: world.token, body: { name: 'Shop' } });
    await note({ actorKind: 'sor_key', actorId: world.sor.id, action: 'import', subject: 'imp_1' });
    await note({ subject: 'imp_2' });
    const { entries, next } = await read();
    expect(next).toBeNull();
    expect(entries).toMatchObject([
      { actor_kind: 'system', actor: null, actor_name: null, subject: 'imp_2' },
      { actor_kind: 'sor_key', actor: world.sor.identifier, actor_name: 'CRM', action: 'import', subject: 'imp_1' },
      {
        actor_kind: 'user',
        actor: world.user.uid,
        actor_name: world.user.email,
        action: 'create',
        subject_kind: 'system_of_record',
        address: '127.0.0.1',
      },
    ]);
  });

  test('writes down that it is read and exported, and by which filters', async () => {
    world = await makeWorld(store);
    await read({ action: 'read', customer_id: personId(7) });
    await server.call('GET', '/api/audit_log.csv?from=2026-01-01T00:00:00Z', { token: world.token });
    const { entries } = await read({ subject_kind: 'audit_log' });
    const customer_hash = store.secrets.customerHash(world.entity.id, 'user_id', personId(7)).toString('hex');
    expect(entries).toMatchObject([
      { action: 'read', details: { how: 'export', filters: 'from' }, customer_hash: null },
      { action: 'read', details: { how: 'read', filters: 'action customer_id' }, customer_hash },
    ]);
    expect(JSON.stringify(entries)).not.toContain(personId(7));
  });

  test('is filtered by each of its members, and by a person', async () => {
    world = await makeWorld(store);
    const query = new URLSearchParams({
      sor_id: world.sor.identifier,
      customer_id: personId(1),
      customer_type: 'user_id',
    });
    await server.call('GET', `/api/attribute_values?${query}`, { token: world.token });
    await note({ subject: 'a', action: 'create', subjectKind: 'entity' });
    await note({ subject: 'b', action: 'delete', subjectKind: 'user', actorKind: 'user', actorId: world.user.id });
    await note({ subject: 'c', actorKind: 'sor_key', actorId: world.sor.id });
    const seen = async (filter: Record<string, string>) =>
      subjects((await read({ ...filter, per_page: '10' })).entries);
    expect(await seen({ action: 'create' })).toEqual(['a']);
    expect(await seen({ subject_kind: 'user' })).toEqual(['b']);
    expect(await seen({ subject: 'c' })).toEqual(['c']);
    expect(await seen({ actor_kind: 'sor_key' })).toEqual(['c']);
    expect(await seen({ actor: world.user.uid, action: 'delete' })).toEqual(['b']);
    expect(await seen({ actor: world.sor.identifier })).toEqual(['c']);
    expect(await seen({ actor: String(world.user.id), actor_kind: 'user', subject_kind: 'user' })).toEqual(['b']);
    const ofPerson = await read({ customer_id: personId(1), subject_kind: 'customer' });
    expect(ofPerson.entries).toMatchObject([{ action: 'read', subject_kind: 'customer' }]);
    expect(
      (await read({ customer_id: personId(1), customer_id_type: 'device_id', subject_kind: 'customer' })).entries,
    ).toEqual([]);
    expect((await read({ customer_id: personId(2), subject_kind: 'customer' })).entries).toEqual([]);
  });

  test('is bounded by times: from is within, till is not', async () => {
    world = await makeWorld(store);
    for (const day of [1, 2, 3]) {
      await store.db.query(
        `INSERT INTO audit_log (entity_id, happened_at, actor_kind, action, subject_kind, subject)
         VALUES ($1, $2, 'system', 'update', 'import', $3)`,
        [world.entity.id, `2026-03-0${day}T00:00:00Z`, `day ${day}`],
      );
    }
    expect(subjects((await read({ from: '2026-03-02T00:00:00Z', till: '2026-03-03T00:00:00Z' })).entries)).toEqual([
      'day 2',
    ]);
    expect(subjects((await read({ till: '2026-03-02T00:00:00.001Z' })).entries)).toEqual(['day 2', 'day 1']);
  });

  test('followed by `next` shows each entry once, whatever is written meanwhile', async () => {
    world = await makeWorld(store);
    // Several at the very same time: only their ids tell them apart.
    await store.db.query(
      `INSERT INTO audit_log (entity_id, happened_at, actor_kind, action, subject_kind, subject)
       SELECT $1, timestamptz '2026-03-01T00:00:00.123456Z' + (n / 5) * interval '1 microsecond', 'system', 'update', 'import', n
       FROM generate_series(0, 52) AS n`,
      [world.entity.id],
    );
    const seen: (string | null)[] = [];
    for (let path: string | null = '/api/audit_log?per_page=7&subject_kind=import'; path;) {
      const { result }: { result: Page } = (await server.call('GET', path, { token: world.token })).body;
      seen.push(...subjects(result.entries));
      await note({ subject: 'meanwhile' });
      path = result.next && new URL(result.next).pathname + new URL(result.next).search;
    }
    expect(seen).toEqual(Array.from({ length: 53 }, (_, n) => String(52 - n)));
  });

  test('refuses a cursor that it never gave', async () => {
    world = await makeWorld(store);
    for (const cursor of [
      'x',
      Buffer.from('1.x').toString('base64url'),
      Buffer.from('99999999999999999999.1').toString('base64url'),
    ]) {
      const { status, body } = await server.call('GET', `/api/audit_log?cursor=${cursor}`, { token: world.token });
      expect([status, body.messages[0].element]).toEqual([400, 'cursor']);
    }
    const last = Buffer.from('9999999999999999.999999999999999').toString('base64url');
    expect((await server.call('GET', `/api/audit_log?cursor=${last}`, { token: world.token })).status).toBe(200);
  });

  test('is exported whole as CSV, with the same filters', async () => {
    world = await makeWorld(store);
    await store.db.query(
      `INSERT INTO audit_log (entity_id, happened_at, actor_kind, action, subject_kind, subject, details)
       SELECT $1, timestamptz '2026-03-01' + (n / 3) * interval '1 microsecond', 'system', 'update', 'import', n,
         '{"name": "a \\"b\\", c"}'
       FROM generate_series(1, 2500) AS n`,
      [world.entity.id],
    );
    const { status, headers, text } = await server.call('GET', '/api/audit_log.csv?subject_kind=import', {
      token: world.token,
    });
    expect([status, headers['content-disposition']]).toEqual([200, 'attachment; filename="audit_log.csv"']);
    const rows: Record<string, string>[] = parse(text, { columns: true });
    expect(rows.map(({ subject }) => Number(subject))).toEqual(Array.from({ length: 2_500 }, (_, n) => 2_500 - n));
    expect(rows[0]).toMatchObject({
      actor_kind: 'system',
      actor: '',
      action: 'update',
      details: '{"name":"a \\"b\\", c"}',
    });
    const none = await server.call('GET', '/api/audit_log.csv?subject=none', { token: world.token });
    expect(none.text.trimEnd().split('\n')).toHaveLength(1);
  });

  test('is closed to members who are no admins', async () => {
    const own = await makeWorld(store, { admin: false });
    for (const path of ['/api/audit_log', '/api/audit_log.csv']) {
      expect((await server.call('GET', path, { token: own.token })).status).toBe(403);
    }
  });

  test('names a user of another entity by the uid alone', async () => {
    world = await makeWorld(store);
    const other = await makeWorld(store);
    await note({ actorKind: 'user', actorId: other.user.id, subject: 'gone' });
    const { entries } = await read();
    expect(entries).toMatchObject([{ actor: other.user.uid, actor_name: null }]);
  });
});
