import {
  about,
  type Answer,
  type Call,
  call,
  cancel,
  type Draw,
  type LifeOperations,
  make,
  mustHold,
  NothingToCall,
  read,
  remove,
} from '../life-operation.ts';

/** Connections, and syncs over them: from a Postgres and a file into attributes, and from the Postgres to a webhook. */

export type SyncSource = { attribute: 'tier' | 'stage'; table?: string; file?: string };

/** By sync: where its source is, and the attribute that no other writes. */
export const sources = new Map<string, SyncSource>();
/** What each file and table holds, by customer. */
const contents = new Map<string, Map<string, string>>();

type Run = {
  run_id: string;
  state: string;
  ended_at: string | null;
  records: Record<'read' | 'written' | 'unchanged' | 'ignored' | 'failed', number>;
};

/** Changes the source of a sync, so that its next run has something to write. */
async function changeSource(draw: Draw, sync: string, { attribute, table, file }: SyncSource): Promise<void> {
  const person = draw.person();
  const value = draw.value(person);
  // The shop's Postgres is killed as well.
  if (table !== undefined)
    await draw.life.outside.sell(table, person.userId, value).catch(() => {
      throw new NothingToCall();
    });
  // Any run from now on may bring it, one under way too.
  const now = Date.now();
  draw.entity.values.addUncertain({
    person: person.userId,
    attribute,
    value,
    way: `sync ${sync}`,
    job: `change to ${value}`,
    sentAt: now,
    acknowledgedAt: now,
  });
  const held = contents.get(table ?? file!) ?? new Map<string, string>();
  contents.set(table ?? file!, held.set(person.userId, value));
  if (file !== undefined) {
    const lines = [...held].map(([email, stage]) => `${email},${stage}`);
    draw.life.outside.serve(file, `email,stage\n${lines.join('\n')}\n`);
  }
}

function noteRun({ result, sentAt, answeredAt }: Answer, { entity }: Draw, { item }: Call): void {
  const { run_id: id } = result as Run;
  entity.add('sync run', { id, of: item!.id });
  const source = sources.get(item!.id);
  if (!source) return;
  for (const [person, value] of contents.get(source.table ?? source.file!) ?? []) {
    entity.values.add({
      person,
      attribute: source.attribute,
      value,
      way: `sync ${item!.id}`,
      job: id,
      sentAt,
      acknowledgedAt: answeredAt,
    });
  }
}

function checkRun({ result }: Answer, { entity }: Draw): void {
  const {
    run_id: id,
    state,
    ended_at: end,
    records: { read: all, written, unchanged, ignored, failed },
  } = result as Run;
  mustHold(
    all === written + unchanged + ignored + failed,
    `sync run ${id}: ${all} read, but ${written} written + ${unchanged} unchanged + ${ignored} ignored + ${failed} failed`,
  );
  if (end !== null) entity.values.ended(id, { isComplete: state === 'finished' && ignored + failed === 0 });
}

const definition = (draw: Draw) => ({
  name: draw.name('Another'),
  source: { connection: draw.item('source').id, stream: 'nowhere' },
  destination: { sor: draw.entity.sor.identifier },
  mapping: { customer: { field: 'email' }, fields: [{ from: 'plan' }] },
});

const settings = (draw: Draw) => ({
  name: draw.name('Files'),
  connector: 'http-file',
  settings: { url: `${draw.life.outside.url}/nothing.csv`, format: 'csv' },
});

export const syncOperations: LifeOperations = {
  viewConnection: read('connection'),
  createConnection: make({ kind: 'connection' }, (draw) => ({ body: settings(draw) })),
  updateConnection: { call: (draw) => ({ item: draw.spare('connection'), body: { name: draw.name('Renamed') } }) },
  deleteConnection: remove('connection'),
  checkConnectionSettings: call((draw) => ({
    body: { connector: 'http-file', settings: settings(draw).settings, as: 'source' },
  })),
  checkConnection: about('connection', () => ({ body: {} })),
  listStreams: about('connection'),
  viewSync: read('sync'),
  createSync: make({ kind: 'sync' }, (draw) => ({ body: definition(draw) })),
  validateSync: call((draw) => ({ body: definition(draw) })),
  updateSync: { call: (draw) => ({ item: draw.spare('sync'), body: { name: draw.name('Renamed') } }) },
  deleteSync: remove('sync'),
  pauseSync: about('sync'),
  resumeSync: about('sync'),
  acceptSyncSchema: about('sync'),
  runSync: {
    weight: 8,
    async call(draw) {
      const item = draw.item('sync');
      const source = sources.get(item.id);
      if (source) await changeSource(draw, item.id, source);
      return { item, body: draw.chance(0.2) ? { fresh: true } : {} };
    },
    done: noteRun,
  },
  dryRunSync: {
    ...about('sync', () => ({ body: { records: 100 } })),
    done({ result }, { entity }, { item }) {
      entity.add('sync run', { id: (result as Run).run_id, of: item!.id });
    },
  },
  listSyncRuns: read('sync'),
  viewSyncRun: { ...about('sync run'), weight: 6, done: checkRun },
  findSyncRun: { ...about('sync run'), done: checkRun },
  cancelSyncRun: cancel('sync run'),
  redriveSyncRun: {
    ...about('sync run'),
    done({ result }, { entity }, { item }) {
      entity.add('sync run', { id: (result as Run).run_id, of: item!.of! });
    },
  },
  readSyncLog: about('sync run'),
  listSyncRequests: about('sync run'),
  viewDryRunSample: about('sync run'),
  listSyncErrors: about('sync run'),
  downloadSyncErrors: about('sync run'),
};
