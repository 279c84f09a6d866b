import { beforeAll, describe, expect, it } from 'vitest';
import { verifyDocument } from '../../../domain/core/signed-document.ts';
import { receiptSchema } from '../../../domain/gdpr/gdpr-receipt.ts';
import { write } from '../../../store/core/database.ts';
import { findSyncCopies, listCopies, noteSyncCopies } from '../../../store/gdpr/copies.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { insertReceipt } from '../../../store/gdpr/receipts.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import { personId } from '../../harness/core/people.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { storedSync } from '../../harness/syncs/stored-syncs.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();
const [ASKED, ALIAS, ANOTHER] = [personId(1), personId(2), personId(3)];
let request: string;

const hashOf = (id: string) => store.secrets.customerHash(world.entity.id, 'user_id', id);
const get = (path: string, token = world.token) => server.call('GET', path, { token });

function askFor(userId: string, state: 'accepted' | 'waiting' = 'accepted') {
  return requestByApi(store.db, 'delete', world, [userId], { state });
}

function issue(round: number, erased: number) {
  return write(store.db, (tx) =>
    insertReceipt(
      tx,
      store.secrets,
      world.entity.id,
      {
        type: 'erasure',
        request,
        round,
        source: 'api',
        requested_at: '2026-11-01T08:00:00Z',
        tombstones_at: '2026-11-01T08:00:05Z',
        requested_by: { kind: 'user', id: world.user.uid },
        subjects: [
          { subject: hashOf(ASKED).toString('hex'), identifiers: { user_id: 2, device_id: 0, push_token: 0 } },
        ],
        places: [{ place: 'attribute_values', erased, survivors: 0 }],
        copies: [],
        kept: [{ place: 'tombstones', why: 'so that nobody brings them back', until: null }],
      },
      [hashOf(ALIAS)],
    ),
  );
}

beforeAll(async () => {
  request = (await askFor(ASKED)).identifier;
});

describe('receipts', () => {
  it('are told of once there are any, and are missed in words that say why', async () => {
    expect(await get(`/api/gdpr/requests/${request}/receipt`)).toMatchObject({
      status: 404,
      body: { error_message: 'Request is accepted: there is a receipt once it is treated' },
    });
    expect((await get('/api/gdpr/requests/gdp_none/receipt')).body.error_message).toBe('Request not found');
    await issue(1, 12);
    await issue(2, 3);
    const { status, body } = await get(`/api/gdpr/requests/${request}/receipt`);
    expect(status).toBe(200);
    const { receipts } = body.result as { receipts: object[] };
    expect(receipts.map((one) => verifyDocument(one, store.secrets.signingKeys()))).toEqual(['valid', 'valid']);
    expect(receipts.map((one) => receiptSchema.parse(one).round)).toEqual([1, 2]);
    expect(JSON.stringify(receipts)).not.toContain(ASKED);
  });

  it('stay when the request is gone, cannot be changed, and are issued once a round', async () => {
    const { body: before } = await get(`/api/gdpr/requests/${request}/receipt`);
    expect((await issue(1, 99)).receipt).toBe(
      (before.result as { receipts: { receipt: string }[] }).receipts[0]!.receipt,
    );
    await store.db.query('DELETE FROM gdpr_requests WHERE identifier = $1', [request]);
    expect((await get(`/api/gdpr/requests/${request}/receipt`)).body.result).toEqual(before.result);
    for (const change of [
      'UPDATE gdpr_receipts SET round = 9',
      'DELETE FROM gdpr_receipts',
      'TRUNCATE gdpr_receipts',
    ]) {
      await expect(store.db.query(change)).rejects.toThrow('append-only');
    }
  });

  it('are found by any id of a person, and who asked for whom is written down by hash', async () => {
    for (const [id, found] of [
      [ASKED, 2],
      [ALIAS, 2],
      [ANOTHER, 0],
    ] as const) {
      const { body } = await get(`/api/gdpr/receipts?${new URLSearchParams({ user_id: id, per_page: '1' })}`);
      expect(body.result).toMatchObject({ total_items: found, item_count: Math.min(found, 1) });
      const { rows } = await store.db.query<{ n: number }>(
        `SELECT count(*) AS n FROM audit_log WHERE action = 'read' AND subject_kind = 'gdpr_receipt' AND customer_hash = $1`,
        [hashOf(id)],
      );
      expect(rows[0]!.n).toBe(1);
    }
    const { body } = await get(`/api/gdpr/receipts?${new URLSearchParams({ user_id: ASKED, per_page: '1' })}`);
    const {
      items: [first],
      navigation,
    } = body.result as { items: { round: number }[]; navigation: { next: string } };
    const { pathname, search } = new URL(navigation.next);
    const {
      items: [second],
    } = (await get(pathname + search)).body.result as { items: { round: number }[] };
    expect([first!.round, second!.round]).toEqual([2, 1]);
    expect((await get('/api/gdpr/receipts?device_id=device-1')).body.result).toMatchObject({ total_items: 0 });
    expect((await get('/api/gdpr/receipts')).body.error_message).toContain('user_id: is required, or device_id');
    expect((await get('/api/gdpr/receipts?user_id=a&device_id=b')).body.error_message).toContain(
      'device_id: must not come with user_id',
    );
  });

  it('tell which syncs took a person elsewhere, though nothing here knows it any more', async () => {
    const { entity } = world;
    const asked = await askFor(ASKED);
    const round = { entityId: entity.id, requestIdentifier: asked.identifier, round: 1 };
    const people: KnownBy[] = [
      { customerType: 'user_id', customerId: ASKED },
      { customerType: 'push_token', customerId: 'a token' },
    ];
    const [wanted, all] = await write(store.db, async (tx) => {
      const outgoing = (stream: string) =>
        storedSync(tx, world, { destination: { connectionId: 1, stream, key: ['id'] } });
      const [named, keyed, others, inside] = [
        await outgoing('contacts'),
        await outgoing('leads'),
        await outgoing('others'),
        await storedSync(tx, world),
      ];
      const note = (syncId: number, key: string, customerId: string | null) =>
        upsertRecords(tx, entity.id, { syncId, runId: 1, isSeen: false }, [{ key, customerId, checksum: '01' }]);
      await note(named.id, '["4711"]', ASKED);
      await note(keyed.id, JSON.stringify([ASKED]), null);
      await note(others.id, JSON.stringify([ANOTHER]), ANOTHER);
      await note(inside.id, ASKED, null);
      return [[named, keyed].map((sync) => sync.identifier), [named, keyed, inside].map((sync) => sync.identifier)];
    });
    const note = async () => {
      const found = await findSyncCopies(store, entity.id, people);
      await write(store.db, (tx) => noteSyncCopies(tx, round, found));
      return [...found];
    };
    for (let times = 0; times < 2; times += 1) expect(new Set(await note())).toEqual(new Set(all));
    await store.db.query('DELETE FROM sync_records WHERE entity_id = $1', [entity.id]);
    expect(await note()).toEqual([]);
    const ids = wanted!;
    const copies = await listCopies(store.db, round);
    expect(copies).toMatchObject(ids.map((id) => ({ kind: 'sync', id, state: 'elsewhere', list: null })));
    expect(copies.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('contacts'),
      expect.stringContaining('leads'),
    ]);
    expect(await listCopies(store.db, { ...round, round: 2 })).toEqual([]);
    // What a deleted sync knew of its records goes with it: from then on every receipt names it.
    await store.db.query(`UPDATE syncs SET deleted_at = now(), has_copies = true WHERE identifier = $1`, [ids[1]]);
    expect(await listCopies(store.db, { ...round, round: 2 })).toMatchObject([
      { kind: 'sync', id: ids[1], state: 'elsewhere', reason: expect.stringMatching(/deleted.*leads/) as string },
    ]);
  });
});
