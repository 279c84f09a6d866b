import {
  type Answer,
  type Call,
  cancel,
  type Draw,
  list,
  type LifeOperation,
  type LifeOperations,
  mustHold,
  read,
} from '../life-operation.ts';
import type { Person } from '../people.ts';

/** Imports and feeds: the ways in for values. What is acknowledged is noted in the model of values. */

/** The attribute that imports and feeds both write. */
const SHARED_ATTRIBUTE = 'plan';

type Rows = { in: number; ok: number; ignored: number; failed: number };

function mustAddUp(what: string, { in: all, ok, ignored, failed }: Rows): void {
  mustHold(all === ok + ignored + failed, `${what}: ${all} in, but ${ok} ok + ${ignored} ignored + ${failed} failed`);
}

/** What a request writes of people, each person once. */
type Written = { person: Person; value: string | null }[];

const written = new WeakMap<Call, Written>();

function drawWritten(draw: Draw): Written {
  const people = new Set(
    draw.some(
      ['', '', '', ''].map(() => draw.person()),
      4,
    ),
  );
  return [...people].map((person) => ({ person, value: draw.chance(0.1) ? null : draw.value(person) }));
}

function note(draw: Draw, call: Call, { sentAt, answeredAt }: Answer, way: 'import' | 'feed', job: string): void {
  for (const { person, value } of written.get(call) ?? []) {
    draw.entity.values.add({
      person: person.userId,
      attribute: SHARED_ATTRIBUTE,
      value,
      way,
      job,
      sentAt,
      acknowledgedAt: answeredAt,
    });
  }
}

const OTHER_ROWS = (draw: Draw, { userId }: Person) =>
  draw.of([
    `${userId},score,${draw.int(1_000)},`,
    `${userId},score,none,`,
    `${userId},tags,${draw.value(draw.person())},ADD`,
    `${userId},nowhere,x,`,
    `${userId},vip,true,`,
    `${userId},born,1990-01-0${1 + draw.int(9)},`,
    `${userId},born,1990-01-0${1 + draw.int(9)}T00:00,`,
    `"${userId},plan`,
  ]);

const importAttributeValues: LifeOperation = {
  weight: 8,
  call(draw) {
    const { sor } = draw.entity;
    const rows = drawWritten(draw);
    const isDryRun = draw.chance(0.15);
    const fields = {
      sor_id: sor.identifier,
      api_key: sor.apiKey,
      skip_email: draw.chance(0.7),
      dry_run: isDryRun,
      ...(draw.chance(0.3) ? { dates: 'lenient' } : {}),
    };
    const lines = rows.map(({ person: { userId }, value }) =>
      value === null ? `${userId},plan,,DEL` : `${userId},plan,${value},`,
    );
    const others = rows.flatMap(({ person }) => Array.from({ length: draw.int(4) }, () => OTHER_ROWS(draw, person)));
    // A table can't remove a value.
    const isTable = draw.chance(0.3) && rows.every(({ value }) => value !== null);
    const content = isTable
      ? tableOf(draw, rows)
      : `user_id,attribute_key,value,action_type\n${[...lines, ...others].join('\n')}\n`;
    const all = isTable ? { ...fields, columns: TABLE_COLUMNS } : fields;
    const call = draw.chance(0.2)
      ? { body: { ...all, file_url: offered(draw, content) } }
      : { body: isTable ? { ...all, columns: JSON.stringify(TABLE_COLUMNS) } : all, file: { name: 'a.csv', content } };
    if (!isDryRun) written.set(call, rows);
    return call;
  },
  done(answer, draw, call) {
    const { import_id: id } = answer.result as { import_id: string };
    draw.entity.add('import', { id });
    note(draw, call, answer, 'import', id);
  },
};

/** The same of a user, whose token stands for the key. */
const importWithToken: LifeOperation = {
  ...importAttributeValues,
  weight: 4,
  async call(draw) {
    const call = await importAttributeValues.call(draw);
    const fields = Object.entries(call.body as object).filter(([name]) => name !== 'api_key');
    const own = { ...call, body: Object.fromEntries(fields) };
    const rows = written.get(call);
    if (rows) written.set(own, rows);
    return own;
  },
};

const TABLE_COLUMNS = { customer: 'who', attributes: { plan: 'plan', points: 'score' } };

function tableOf(draw: Draw, rows: Written): string {
  const lines = rows.map(
    ({ person, value }) => `${draw.of(['', '7', 'none'])},${value},${draw.value(person)},${person.userId}`,
  );
  return `points,plan,notes,who\n${lines.join('\n')}\n`;
}

/** The address at which an outside server has a file. */
function offered({ life: { outside, nextOrdinal } }: Draw, content: string): string {
  const path = `/import-${nextOrdinal()}.csv`;
  outside.serve(path, content);
  return `${outside.url}${path}`;
}

const feedAttributeValues: LifeOperation = {
  weight: 8,
  call(draw) {
    const { sor } = draw.entity;
    const rows = drawWritten(draw);
    const values: object[] = rows.map(({ person, value }) => ({
      customer_id: person.userId,
      attribute_key: SHARED_ATTRIBUTE,
      attribute_value: value,
    }));
    for (const attribute of ['score', 'tags', 'nowhere']) {
      const person = draw.person();
      const other = { customer_id: person.userId, attribute_key: attribute, attribute_value: draw.value(person) };
      if (draw.chance(0.2)) values.push(attribute === 'tags' ? { ...other, action_type: 'ADD' } : other);
    }
    const call = { body: { sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: values } };
    written.set(call, rows);
    return call;
  },
  done(answer, draw, call) {
    const { requestId: id } = answer.result as { requestId: string };
    draw.entity.add('feed', { id });
    note(draw, call, answer, 'feed', id);
  },
};

type ShownImport = { state: string; ended_at: string | null; rows: Omit<Rows, 'in'> & { read: number } };
type ShownFeed = { state: string; values: Rows };

const hasEnded = ({ result }: Answer): boolean => (result as ShownImport).ended_at !== null;

/** Of an import that has ended. */
function checkImport(answer: Answer, { entity }: Draw, { item }: Call): void {
  if (!hasEnded(answer)) return;
  const { state, rows } = answer.result as ShownImport;
  mustAddUp(`import ${item!.id}`, { in: rows.read, ...rows });
  entity.values.ended(item!.id, { isComplete: state === 'finished' });
}

export const wayInOperations: LifeOperations = {
  importAttributeValues,
  importWithToken,
  listImportSummaries: list((draw) => ({ query: draw.chance(0.5) ? { open: true } : {} })),
  countImportRows: list(),
  listFeedRequests: list((draw) => ({ query: draw.chance(0.5) ? { with_errors: true } : {} })),
  downloadSorTemplate: { call: ({ entity: { sor } }) => ({ params: { sor_identifier: sor.identifier } }) },
  listImportErrors: read('import', (draw, { id }) => ({
    query: { import_id: id, ...(draw.chance(0.5) ? { open: true } : {}) },
  })),
  viewImport: { ...read('import'), weight: 6, done: checkImport },
  cancelImport: cancel('import', { done: checkImport }),
  downloadImportErrors: read('import'),
  downloadImportTemplate: list(({ entity: { sor } }) => ({ query: { sor_id: sor.identifier, api_key: sor.apiKey } })),
  feedAttributeValues,
  viewFeedRequest: {
    ...read('feed'),
    weight: 6,
    done({ result }, { entity }, { item }) {
      const { state, values } = result as ShownFeed;
      if (state !== 'finished') return;
      mustAddUp(`feed ${item!.id}`, values);
      entity.values.ended(item!.id, { isComplete: true });
    },
  },
};
