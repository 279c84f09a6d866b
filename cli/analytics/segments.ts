/** The command `millrace segments`: sets of people, their counts, who joined and left, and why one is in it. */
import type { Command } from 'commander';
import type { Client, Segment } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup, recordTable } from '../core/group.ts';
import { readJsonObject, readPeople } from '../core/read-input.ts';
import { table } from '../core/table.ts';
import { explainSegment } from './people.ts';

const SEGMENT = ['<segment>', 'its identifier'] as const;
const FILE = ['<file>', 'JSON as the API takes it; - for standard input'] as const;
const LIMIT = ['--limit <n>', 'maximum number of lines, from 1 to 100,000', '100'] as const;
const DEVICE_IDS = ['--device', 'these are ids of devices'] as const;
const MAX_LINES = 100_000;
const MAX_PAGE = 200;

const paramsOf = (identifier: string) => ({ params: { identifier } });
const bodyOf = async (context: CommandContext, file: string): Promise<unknown> =>
  readJsonObject(context, file, 'write it as {"name": …, "app": …, "filters": {"blocks": […]}}');

export function addSegmentsCommand(program: Command, run: Run): void {
  const segments = addGroup<Segment>(program, run, {
    name: 'segments',
    description: 'sets of people of an app: who is in them, how many, who joined and left',
    columns: {
      segment: ({ identifier }) => identifier,
      name: ({ name }) => name,
      state: ({ state }) => state,
      people: ({ preview, snapshot_at: at }) => (preview && at ? String(preview.people_number) : ''),
      'as of': ({ snapshot_at: at }) => at?.slice(0, 16) ?? '',
      failure: ({ failure }) => failure ?? '',
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them with their states and counts',
        options: [['--app <app>', 'only those of an app']],
        does: ({ client }, { app }: { app?: string }) => client.listSegments({ query: { app } }),
      },
      {
        name: 'show',
        description: 'show one, with what names it',
        args: [SEGMENT],
        does: async ({ client }, _, id: string) => ({ record: await client.viewSegment(paramsOf(id)) }),
      },
      {
        name: 'create',
        description: 'create one from a JSON file',
        args: [FILE],
        does: async (context, _, file: string) =>
          context.client.createSegment({ body: (await bodyOf(context, file)) as BodyOf<'createSegment'> }),
      },
      {
        name: 'update',
        description: 'change one by a JSON file; a revision in it refuses to overwrite a newer one',
        args: [SEGMENT, FILE],
        does: async (context, _, id: string, file: string) =>
          context.client.updateSegment({
            ...paramsOf(id),
            body: (await bodyOf(context, file)) as BodyOf<'updateSegment'>,
          }),
      },
      {
        name: 'delete',
        description: 'delete one that nothing names, after asking; the people stay',
        args: [SEGMENT],
        deletes: async ({ client }, id) => `the segment ${(await client.viewSegment(paramsOf(id!))).name}`,
        does: ({ client }, _, id: string) => client.deleteSegment(paramsOf(id)),
      },
    ],
  });
  addPeopleCommands(segments, run);
}

type BodyOf<N extends 'createSegment' | 'updateSegment' | 'previewSegment'> = Parameters<Client[N]>[0]['body'];
type PreviewOptions = { app: string; fast?: boolean };
type LimitOption = { limit: string };
type ChangesOptions = LimitOption & { joined?: true; left?: true };
type AddOptions = { file?: string; device?: true };

function addPeopleCommands(segments: Command, run: Run): void {
  segments
    .command('preview')
    .description('count the people that filters find now, and who is left after each filter')
    .argument('<file>', 'the filters as JSON; - for standard input')
    .requiredOption('--app <app>', 'the app whose people are counted')
    .option('--fast', 'look at a sample of people, for at most 1.5 seconds')
    .action((file: string, options: PreviewOptions) => run((context) => preview(context, file, options)));
  segments
    .command('people')
    .description('list its people as of its last snapshot; each has an entry in the audit log')
    .argument(...SEGMENT)
    .option(...LIMIT)
    .action((id: string, options: LimitOption) => run((context) => listPeople(context, id, options)));
  segments
    .command('changes')
    .description('list who joined and who left, newest first; each has an entry in the audit log')
    .argument(...SEGMENT)
    .option('--joined', 'only who joined')
    .option('--left', 'only who left')
    .option(...LIMIT)
    .action((id: string, options: ChangesOptions) => run((context) => listChanges(context, id, options)));
  segments
    .command('days')
    .description('count its people, and who joined and left, by day in UTC')
    .argument(...SEGMENT)
    .option('--days <n>', 'the last days, from 1 to 400', '31')
    .action((id: string, { days }: { days: string }) => run((context) => countDays(context, id, days)));
  segments
    .command('why')
    .description('show why a person is in it, or is not: each filter with the value found')
    .argument(...SEGMENT)
    .argument('<user>', 'user id')
    .option('--device', 'it is the id of a device')
    .action((id: string, user: string, options: { device?: true }) =>
      run((context) => explainSegment(context, user, id, options)),
    );
  for (const [name, description, change] of [
    ['add-people', 'add people to a segment that is a list', addPeople],
    ['remove-people', 'remove people from a segment that is a list', removePeople],
  ] as const) {
    segments
      .command(name)
      .description(description)
      .argument(...SEGMENT)
      .argument('[ids...]', 'user ids')
      .option('--file <path>', 'a file with one id a line; - for standard input')
      .option(...DEVICE_IDS)
      .action((id: string, ids: string[], options: AddOptions) => run((context) => change(context, id, ids, options)));
  }
}

async function preview(context: CommandContext, file: string, { app, fast = false }: PreviewOptions): Promise<number> {
  const { client, console, terminal } = context;
  const hint = 'write the filters as {"blocks": [{"filters": […]}]}';
  const filters = (await readJsonObject(context, file, hint)) as BodyOf<'previewSegment'>['filters'];
  const {
    preview: counts,
    reach,
    sample,
    left,
  } = await client.previewSegment({ body: { app, filters, fast, left: true } });
  const people = sample === null ? counts.people_number : `${counts.people_number} ± ${sample.margin}`;
  const { people_percent: percent, push_percent: push } = counts;
  const record = {
    people,
    '% of the app': percent,
    '% reachable by push': push,
    devices: reach.count,
    exact: sample === null,
  };
  console.log(recordTable(record, terminal.width));
  const rows = (left ?? []).map((each) => [
    each.element,
    each.margin === null ? String(each.people) : `${each.people} ± ${each.margin}`,
  ]);
  if (rows.length > 0) console.log(`\n${table(['filter', 'people left'], rows, terminal.width)}`);
  return 0;
}

async function listPeople(context: CommandContext, id: string, options: LimitOption): Promise<number> {
  const { client, console, terminal } = context;
  const people = await pagesOf(options, async (page) => {
    const answer = await client.listSegmentPeople({ ...paramsOf(id), query: page });
    return { items: answer.people, next: answer.next };
  });
  context.setResult(people);
  const rows = people.map(({ user_id: user, device_id: device }) => [user ?? '', device ?? '']);
  console.log(people.length === 0 ? 'no people' : table(['user', 'device'], rows, terminal.width));
  return 0;
}

async function listChanges(
  context: CommandContext,
  id: string,
  { joined, left, ...options }: ChangesOptions,
): Promise<number> {
  const { client, console, terminal } = context;
  const which = joined === left ? {} : { joined: joined === true };
  const changes = await pagesOf(options, async (page) => {
    const answer = await client.listSegmentChanges({ ...paramsOf(id), query: { ...which, ...page } });
    return { items: answer.changes, next: answer.next };
  });
  context.setResult(changes);
  const rows = changes.map((change) => [
    change.at.slice(0, 19),
    change.joined ? 'joined' : 'left',
    change.user_id ?? '',
    change.device_id ?? '',
  ]);
  console.log(changes.length === 0 ? 'no changes' : table(['at', 'what', 'user', 'device'], rows, terminal.width));
  return 0;
}

async function countDays({ client, console, terminal }: CommandContext, id: string, days: string): Promise<number> {
  const found = await client.countSegmentDays({ ...paramsOf(id), query: { days: Number(days) } });
  const rows = found.map(({ day, people, joined, left }) => [
    day,
    people === null ? '' : String(people),
    String(joined),
    String(left),
  ]);
  console.log(found.length === 0 ? 'no days' : table(['day', 'people', 'joined', 'left'], rows, terminal.width));
  return 0;
}

type Refused = { index: number; message: string };

async function addPeople(context: CommandContext, id: string, given: string[], options: AddOptions): Promise<number> {
  const body = await listedPeople(context, given, options);
  const { added, already_there: there, refused } = await context.client.addSegmentPeople({ ...paramsOf(id), body });
  return sayPeople(context, body.ids, `${added} added, ${there} were there already`, refused);
}

async function removePeople(
  context: CommandContext,
  id: string,
  given: string[],
  options: AddOptions,
): Promise<number> {
  const body = await listedPeople(context, given, options);
  const { removed, not_there: absent, refused } = await context.client.removeSegmentPeople({ ...paramsOf(id), body });
  return sayPeople(context, body.ids, `${removed} removed, ${absent} were not there`, refused);
}

async function listedPeople(context: CommandContext, given: string[], { file, device }: AddOptions) {
  const type = device ? ('device_id' as const) : ('user_id' as const);
  return { ids: await readPeople(context, given, file), customer_id_type: type };
}

/** Returns 1 if ids were refused. */
function sayPeople({ console, terminal }: CommandContext, ids: string[], said: string, refused: Refused[]): number {
  console.log(`${said}, ${refused.length} refused`);
  const rows = refused.map(({ index, message }) => [String(index + 1), ids[index]!, message]);
  if (rows.length > 0) console.log(table(['nth', 'id', 'problem'], rows, terminal.width));
  return refused.length === 0 ? 0 : 1;
}

type Page = { per_page: number; cursor?: string };

/** Reads page after page up to the limit. */
async function pagesOf<T>(
  { limit }: LimitOption,
  read: (page: Page) => Promise<{ items: T[]; next: string | null }>,
): Promise<T[]> {
  const max = Number(limit);
  if (!Number.isSafeInteger(max) || max < 1 || max > MAX_LINES)
    refuse(400, 'bad_limit', '--limit takes a whole number from 1 to 100,000.');
  const found: T[] = [];
  for (let page: Page | null = { per_page: Math.min(max, MAX_PAGE) }; page && found.length < max;) {
    const { items, next } = await read(page);
    found.push(...items);
    const cursor = next === null ? null : new URL(next).searchParams.get('cursor');
    page = cursor === null ? null : { per_page: Math.min(max - found.length, MAX_PAGE), cursor };
  }
  return found.slice(0, max);
}
