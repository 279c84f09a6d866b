/** The command `millrace people`: finds people, and shows what is held of one. */
import { type Command, Option } from 'commander';
import type { FoundPerson, LeftOut, MessageOfPerson, TimelineEntry } from '../../api/client.ts';
import type { MetBlock } from '../../domain/analytics/segment-filters.ts';
import { PERSON_MATCHES, type PersonMatch, TIMELINE_KINDS, type TimelineKind } from '../../domain/analytics/person.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { recordTable } from '../core/group.ts';
import { readLimit } from '../core/read-limit.ts';
import { printable, sayValue, table } from '../core/table.ts';

type FindOptions = { match?: PersonMatch; limit: string };
type OneOptions = { device?: true };
type PageOptions = OneOptions & { limit: string };
type DaysOptions = OneOptions & { until?: string; days: string };
type TimelineOptions = PageOptions & { kind?: TimelineKind; until?: string };

const USER = ['<user>', 'user id'] as const;
const DEVICE = ['--device', 'it is the id of a device'] as const;
const LIMIT = ['--limit <n>', 'maximum number of entries, from 1 to 10,000', '50'] as const;
const MAX_PAGE = 200;

export function addPeopleCommand(program: Command, run: Run): void {
  const people = program
    .command('people')
    .description('find people, and show what is held of one; each look has an entry in the audit log');
  people
    .command('find')
    .description('find people by a user id, a device id, or the whole value of an attribute')
    .argument('<text>', 'such as an id or an e-mail address')
    .addOption(new Option('--match <way>', 'only this way; by default all').choices(PERSON_MATCHES))
    .option('--limit <n>', 'maximum number of people, from 1 to 100', '20')
    .action((text: string, options: FindOptions) => run((context) => find(context, text, options)));
  people
    .command('view')
    .description('show the ids, devices, segments, counts, requests and holds of a person')
    .argument(...USER)
    .option(...DEVICE)
    .action((id: string, options: OneOptions) => run((context) => view(context, id, options)));
  people
    .command('timeline')
    .description('list sessions, attribute changes, messages and privacy requests of a person, newest first')
    .argument(...USER)
    .option(...DEVICE)
    .addOption(
      new Option('--kind <kind>', 'only entries of this kind').choices(Object.keys(TIMELINE_KINDS) as TimelineKind[]),
    )
    .option('--until <time>', 'entries up to this day or time, such as 2026-01-31')
    .option(...LIMIT)
    .action((id: string, options: TimelineOptions) => run((context) => listTimeline(context, id, options)));
  people
    .command('days')
    .description('count what happened to a person by day and kind')
    .argument(...USER)
    .option(...DEVICE)
    .option('--until <day>', 'the last day in UTC, such as 2026-01-31; by default today')
    .option('--days <n>', 'number of days, from 1 to 366', '90')
    .action((id: string, options: DaysOptions) => run((context) => countDays(context, id, options)));
  people
    .command('messages')
    .description('list the messages to a person, each with its outcome, newest first')
    .argument(...USER)
    .option(...DEVICE)
    .option(...LIMIT)
    .action((id: string, options: PageOptions) => run((context) => listMessages(context, id, options)));
  people
    .command('segment')
    .description('show why a person is in a segment, or is not')
    .argument(...USER)
    .argument('<segment>', 'id of the segment')
    .option(...DEVICE)
    .action((id: string, segment: string, options: OneOptions) =>
      run((context) => explainSegment(context, id, segment, options)),
    );
}

const of = (id: string, { device }: OneOptions) => (device ? { device_id: id } : { user_id: id });

async function find(context: CommandContext, text: string, { match, limit }: FindOptions): Promise<number> {
  const { client, console, terminal } = context;
  const body = { text, limit: Number(limit), ...(match && { match: [match] }) };
  const { people, more, left_out: leftOut } = await client.findPeople({ body });
  const rows = people.map((person) => [person.user_id ?? '', person.device_id ?? '', foundBy(person)]);
  console.log(
    people.length === 0 ? 'no person was found' : table(['user', 'device', 'found by'], rows, terminal.width),
  );
  if (more) console.error('There are more: raise --limit, or give more of the text.');
  sayLeftOut(context, leftOut);
  return 0;
}

function foundBy({ matches }: FoundPerson): string {
  return matches
    .map(({ by, sor_id: sor, attribute_key: key }) => (key === null ? by.replace('_', ' ') : `${key} of ${sor}`))
    .join(', ');
}

/** Parts of a person that are lists, each a table of its own. */
const LISTS = ['identifiers', 'devices', 'segments', 'attributes', 'requests', 'holds'] as const;
const COUNTS = ['events', 'sessions', 'messages'] as const;

async function view(context: CommandContext, id: string, options: OneOptions): Promise<number> {
  const { client, console, terminal } = context;
  const person = await client.viewPerson({ body: of(id, options) });
  if (!person.known) {
    console.log('unknown: Millrace holds nothing of this id, or no longer');
    return 0;
  }
  const counts = Object.fromEntries(COUNTS.map((name) => [name, person[name]?.count ?? null]));
  console.log(recordTable(counts, terminal.width));
  for (const name of LISTS) {
    const items = person[name] as Record<string, unknown>[] | null;
    if (items === null || items.length === 0) continue;
    const heads = Object.keys(items[0]!);
    const rows = items.map((item) => heads.map((head) => cell(item[head])));
    console.log(
      `\n${name}\n${table(
        heads.map((head) => head.replaceAll('_', ' ')),
        rows,
        terminal.width,
      )}`,
    );
  }
  sayLeftOut(context, person.left_out);
  return 0;
}

const cell = (value: unknown) => (value === null || value === undefined ? '' : sayValue(value));

async function listTimeline(context: CommandContext, id: string, options: TimelineOptions): Promise<number> {
  const { client, console, terminal } = context;
  const { kind, until } = options;
  const asked = { ...of(id, options), until, ...(kind && { kinds: [kind] }) };
  let leftOut: LeftOut[] = [];
  const entries = await pagesOf(options, async (page) => {
    const answer = await client.viewTimeline({ body: { ...asked, ...page } });
    leftOut = answer.left_out;
    return { ...answer, items: answer.entries };
  });
  context.setResult(entries);
  const rows = entries.map((entry) => [entry.at.slice(0, 19), entry.kind, ...aboutEntry(entry)]);
  console.log(entries.length === 0 ? 'no entries' : table(['at', 'kind', 'what', 'details'], rows, terminal.width));
  sayLeftOut(context, leftOut);
  return 0;
}

async function countDays(context: CommandContext, id: string, options: DaysOptions): Promise<number> {
  const { client, console, terminal } = context;
  const asked = { ...of(id, options), until: options.until, days: Number(options.days) };
  const { days, left_out: leftOut } = await client.countPersonDays({ body: asked });
  context.setResult(days);
  const rows = days.map(({ day, kind, count }) => [day, kind, String(count)]);
  console.log(days.length === 0 ? 'no entries' : table(['day', 'kind', 'entries'], rows, terminal.width));
  sayLeftOut(context, leftOut);
  return 0;
}

function aboutEntry(entry: TimelineEntry): [what: string, details: string] {
  switch (entry.kind) {
    case 'session':
      return [entry.session_id, `${entry.duration} s, ${entry.event_count} events`];
    case 'event':
      return [entry.name, sayValue(entry.detail)];
    case 'attribute':
      return [entry.attribute_key, entry.removed ? 'removed' : (entry.value ?? entry.elements?.join(', ') ?? '')];
    case 'message':
      return [entry.campaign_name, `${entry.code}: ${entry.reason}`];
    case 'request':
      return [entry.request_id, `${entry.request_type}, ${entry.state}`];
  }
}

async function listMessages(context: CommandContext, id: string, options: PageOptions): Promise<number> {
  const { client, console, terminal } = context;
  const messages = await pagesOf(options, async (page) => {
    const answer = await client.listPersonMessages({ body: { ...of(id, options), ...page } });
    return { ...answer, items: answer.messages };
  });
  context.setResult(messages);
  const heads = ['at', 'campaign', 'channel', 'device', 'code', 'confirmed', 'reason'];
  console.log(messages.length === 0 ? 'no messages' : table(heads, messages.map(messageRow), terminal.width));
  return 0;
}

function messageRow(message: MessageOfPerson): string[] {
  return [
    message.at.slice(0, 19),
    message.campaign_name,
    message.channel,
    message.device_id ?? '',
    message.code,
    message.confirmed ? 'yes' : '',
    message.reason,
  ];
}

/** Prints each filter of a segment, with whether the person meets it and what was found. */
export async function explainSegment(
  { client, console, terminal, setResult }: CommandContext,
  id: string,
  segment: string,
  options: OneOptions,
): Promise<number> {
  const explained = await client.explainSegment({ body: { ...of(id, options), segment_id: segment } });
  setResult(explained);
  const { name, member, as_of: asOf, found, reason, blocks } = explained;
  console.log(recordTable({ segment: name, member, as_of: asOf, found_now: found, reason }, terminal.width));
  const rows = (blocks ?? []).flatMap((block, index) => filterRows(block, String(index + 1)));
  if (rows.length > 0) console.log(`\n${table(['block', 'met', 'found', 'filter'], rows, terminal.width)}`);
  return 0;
}

/** Returns a row for each filter of a block, and of those within it. */
function filterRows({ filters }: MetBlock, at: string): string[][] {
  return filters.flatMap((element, index) =>
    'filters' in element
      ? filterRows(element, `${at}.${index + 1}`)
      : [[at, element.met ? 'yes' : 'no', element.found ?? '', `${element.value}: ${sayValue(element.options[0])}`]],
  );
}

type PageBody = { per_page: number; cursor?: string; look?: string };

/** Reads page after page up to the limit: `look` keeps them one entry in the audit log. */
async function pagesOf<T>(
  options: PageOptions,
  read: (page: PageBody) => Promise<{ items: T[]; next: string | null; look: string }>,
): Promise<T[]> {
  const max = readLimit(options);
  const found: T[] = [];
  for (let page: PageBody | null = { per_page: Math.min(max, MAX_PAGE) }; page && found.length < max;) {
    const { items, next, look } = await read(page);
    found.push(...items);
    page = next === null ? null : { per_page: Math.min(max - found.length, MAX_PAGE), cursor: next, look };
  }
  return found.slice(0, max);
}

function sayLeftOut({ console }: CommandContext, leftOut: LeftOut[]): void {
  for (const { part, right, reason } of leftOut)
    console.error(printable(`left out: ${part}: ${right === null ? reason : `needs ${right}`}`));
}
