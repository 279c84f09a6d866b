/** The commands of `millrace campaigns`: drafts, audience, plan, tests, launch, results. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type {
  BodyOf,
  Campaign,
  CampaignAudience,
  CampaignPlan,
  CampaignTest,
  ListedCampaignTest,
  ResultCounts,
} from '../../api/client.ts';
import { CAMPAIGN_STATUSES, type CampaignStatus } from '../../domain/campaigns/campaign-status.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup, recordTable } from '../core/group.ts';
import { readJsonObject } from '../core/read-input.ts';
import { table } from '../core/table.ts';
import { untilAnswered } from '../core/until-answered.ts';
import { addPreviewCommand } from './preview.ts';

type ListOptions = { status?: CampaignStatus; app?: string; search?: string; limit: string };
type LaunchOptions = { expect?: string; revision?: string };
type TestOptions = { variant?: string; vars?: string };
type ResultsOptions = { from?: string; till?: string; variant?: string };

const CAMPAIGN = ['<campaign>', 'its identifier, or its campaign_api_identifier'] as const;
const FILE = [
  '<file>',
  'a JSON file with the whole campaign, as docs/campaigns.md lists it; - for standard input',
] as const;
const HINT = 'write the campaign as {"name": "News", "type": "classic", …}';
const EVERY_MS = 1_000;

export function addCampaignsCommand(program: Command, run: Run): void {
  const campaigns = addGroup<Campaign>(program, run, {
    name: 'campaigns',
    description: 'pushes and in-app messages to an audience, or to users that a call names',
    columns: {
      identifier: ({ identifier }) => identifier,
      name: ({ name }) => name,
      type: ({ type }) => type,
      status: ({ status }) => status,
      starts: ({ start_date: start }) => timeOf(start),
      devices: ({ reach, reach_state: state }) => (state === 'counted' ? String(reach.count) : ''),
      taken: ({ stats }) => String(stats.total_push_sent),
      opened: ({ stats }) => String(stats.total_push_openings),
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, newest first',
        options: [
          new Option('--status <status>', 'only campaigns in this status').choices(CAMPAIGN_STATUSES),
          ['--app <app>', 'only campaigns of this app, by its identifier'],
          ['--search <text>', 'part of the name'],
          new Option('--limit <n>', 'maximum number of campaigns').default('100'),
        ],
        async does({ client, setResult }, { status, app, search, limit }: ListOptions) {
          const query = { status, app_ids: app, search, limit } as never;
          const { result } = await client.listCampaigns({ query });
          setResult(result);
          return result;
        },
      },
      {
        name: 'show',
        description: 'show all settings of one, who launched it and when',
        args: [CAMPAIGN],
        does: async ({ client }, _, id: string) => ({ record: await client.viewCampaign({ params: named(id) }) }),
      },
      {
        name: 'create',
        description: 'make a draft, and print its identifier',
        args: [FILE],
        async does(context, _, file: string) {
          const body = (await readJsonObject(context, file, HINT)) as BodyOf<'createCampaign'>;
          return (await context.client.createCampaign({ body })).campaign_id;
        },
      },
      {
        name: 'update',
        description: 'replace a draft; a `revision` in the file refuses it if the draft has changed since',
        args: [CAMPAIGN, FILE],
        async does(context, _, id: string, file: string) {
          const body = (await readJsonObject(context, file, HINT)) as BodyOf<'updateCampaign'>;
          return { record: await context.client.updateCampaign({ params: named(id), body }) };
        },
      },
      {
        name: 'duplicate',
        description: 'make a draft with all settings of one, and print its identifier',
        args: [CAMPAIGN],
        options: [['--name <name>', 'by default that of the campaign with " (copy)"']],
        does: async ({ client }, { name }: { name?: string }, id: string) =>
          (await client.duplicateCampaign({ params: named(id), body: { name } })).campaign_id,
      },
      {
        name: 'delete',
        description: 'delete a draft, after asking',
        args: [CAMPAIGN],
        deletes: async ({ client }, id) => {
          const { name, identifier } = await client.viewCampaign({ params: named(id) });
          return `the campaign ${name} (${identifier})`;
        },
        async does({ client }, _, id: string) {
          await client.deleteCampaign({ params: named(id) });
        },
      },
    ],
  });
  addActions(campaigns, run);
}

function addActions(campaigns: Command, run: Run): void {
  addPreviewCommand(campaigns, run);
  campaigns
    .command('audience')
    .description('count the people who would get it now, and say why the others do not')
    .argument(...CAMPAIGN)
    .action((id: string) => run((context) => showAudience(context, id)));
  campaigns
    .command('plan')
    .description('list its coming sends: when, to how many devices, on whose clock')
    .argument(...CAMPAIGN)
    .option('--limit <n>', 'maximum number of sends, from 1 to 100', '20')
    .action((id: string, options: { limit: string }) => run((context) => showPlan(context, id, options)));
  campaigns
    .command('test')
    .description('send it to a few users now, and show the result for each device')
    .argument(...CAMPAIGN)
    .argument('<user...>', 'ids of 1 to 20 users')
    .option('--variant <variant>', 'name or identifier of a variant')
    .option('--vars <file>', 'a JSON file with the values of placeholders; - for standard input')
    .action((id: string, users: string[], options: TestOptions) => run((context) => test(context, id, users, options)));
  campaigns
    .command('tests')
    .description('list its tests of the last 30 days, newest first')
    .argument(...CAMPAIGN)
    .action((id: string) => run((context) => listTests(context, id)));
  campaigns
    .command('launch')
    .description('launch a draft for at most as many people as you say; `audience` counts them')
    .argument(...CAMPAIGN)
    .option('--expect <n>', 'number of recipients that you confirm; required unless it is transactional')
    .option('--revision <n>', 'revision that you saw')
    .action((id: string, options: LaunchOptions) => run((context) => launch(context, id, options)));
  campaigns
    .command('cancel')
    .description('cancel a launched campaign: it sends nothing from then on')
    .argument(...CAMPAIGN)
    .action((id: string) => run((context) => cancel(context, id)));
  campaigns
    .command('results')
    .description('show what became of its messages, by code, day and variant')
    .argument(...CAMPAIGN)
    .option('--from <day>', 'first UTC day, such as 2026-01-31')
    .option('--till <day>', 'last UTC day; by default today')
    .option('--variant <variant>', 'only this variant, by name or identifier')
    .action((id: string, options: ResultsOptions) => run((context) => showResults(context, id, options)));
}

const named = (id: string) => ({ campaign_identifier: id });
const timeOf = (seconds: number | null) =>
  seconds === null ? '' : new Date(seconds * 1_000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);

async function showAudience({ client, console, terminal }: CommandContext, id: string): Promise<number> {
  const audience = await client.countCampaignAudience({ params: { identifier: id } });
  console.log(sayAudience(audience));
  const rows = audience.reasons.map(({ people, code, details, reason }) => [String(people), code, details ?? reason]);
  if (rows.length > 0) console.log(`\n${table(['people', 'code', 'reason'], rows, terminal.width)}`);
  return 0;
}

function sayAudience({ people, push, in_app_only: inApp, held_back: heldBack, recipients, devices }: CampaignAudience) {
  return (
    `${recipients} people get it, on ${devices} devices of ${people} people: ` +
    `${people} = ${push} by push + ${inApp} in the app only + ${heldBack} held back`
  );
}

async function showPlan(context: CommandContext, id: string, { limit }: { limit: string }): Promise<number> {
  const { client, console, terminal } = context;
  const plan = await client.planCampaign({ params: { identifier: id }, query: { limit } as never });
  const { audience, first_at: first, last_at: last, sends, has_more: more } = plan;
  if (audience) console.log(sayAudience(audience));
  console.log(first === null ? 'Nothing is planned.' : `The first message leaves at ${first}, the last at ${last!}.`);
  const heads = ['at', 'until', 'devices', 'pushes', 'leaves from', 'leaves until', 'waits for', 'their clocks'];
  if (sends.length > 0) console.log(`\n${table(heads, sends.map(sayPlanned), terminal.width)}`);
  if (more) console.error('There are more sends: raise --limit.');
  return 0;
}

function sayPlanned(send: CampaignPlan['sends'][number]): string[] {
  const clocks = send.clocks?.map(
    ({ zone, at, leaves_from: leaves, is_quiet_there: isQuiet }) =>
      `${zone} ${leaves ?? at}${isQuiet ? ' (in the quiet hours there)' : ''}`,
  );
  return [
    send.at,
    send.until ?? '',
    send.devices === null ? '' : String(send.devices),
    send.pushes === null ? '' : String(send.pushes),
    send.leaves_from ?? '',
    send.leaves_until ?? '',
    send.waits_for.join(', ').replaceAll('_', ' '),
    (clocks ?? send.zones ?? []).join(', '),
  ];
}

async function test(
  context: CommandContext,
  id: string,
  users: string[],
  { variant, vars }: TestOptions,
): Promise<number> {
  const { client, console, setResult } = context;
  const templateVars = vars === undefined ? undefined : await readJsonObject(context, vars, 'write {"name": "Ada"}');
  const body = { users, variant, templateVars } as BodyOf<'testCampaign'>;
  const { requestId } = await client.testCampaign({ params: named(id), body });
  const say = (text: string) => console.error(text);
  const params = { request_id: requestId };
  while (isOpen((await untilAnswered(() => client.viewSend({ params }), say)).state)) await delay(EVERY_MS);
  const tested = await client.viewCampaignTest({ params });
  setResult(tested);
  printTest(context, tested);
  return 0;
}

const isOpen = (state: CampaignTest['state']) => state === 'accepted' || state === 'running';

function printTest({ console, terminal }: CommandContext, { results }: Pick<ListedCampaignTest, 'results'>): void {
  const rows = results.map(({ user, device_id: device, variant, code, details, reason, ...receipts }) => [
    user ?? 'erased person',
    device ?? '',
    variant ?? '',
    code,
    receipts.delivered_at ?? receipts.shown_at ?? '',
    details ?? reason,
  ]);
  console.log(table(['user', 'device', 'variant', 'code', 'confirmed', 'reason'], rows, terminal.width));
}

async function listTests(context: CommandContext, id: string): Promise<number> {
  const { client, console, setResult } = context;
  const all: ListedCampaignTest[] = [];
  for (let cursor: string | undefined; ;) {
    const { tests, next } = await client.listCampaignTests({ params: { identifier: id }, query: { cursor } as never });
    all.push(...tests);
    if (next === null) break;
    cursor = new URL(next).searchParams.get('cursor')!;
  }
  setResult(all);
  if (all.length === 0) console.log('It was not tested in the last 30 days.');
  for (const listed of all) {
    console.log(
      `${listed.created_at}  ${listed.requestId}  ${listed.state}  ${listed.created_by?.uid ?? ''}`.trimEnd(),
    );
    printTest(context, listed);
  }
  return 0;
}

async function launch(context: CommandContext, id: string, { expect, revision }: LaunchOptions): Promise<number> {
  const { client, console, terminal } = context;
  const params = named(id);
  if (expect === undefined && (await client.viewCampaign({ params })).type !== 'transactional') {
    const { recipients } = await client.countCampaignAudience({ params: { identifier: id } });
    return refuse(
      400,
      'not_confirmed',
      `It would go to ${recipients} people now. To launch it: ${terminal.command} campaigns launch ${id} --expect ${recipients}`,
    );
  }
  const number = (given: string | undefined) => (given === undefined ? undefined : Number(given));
  const { name, status } = await client.launchCampaign({
    params,
    body: { expected_people: number(expect), revision: number(revision) },
  });
  console.log(`${name} is launched: ${status}`);
  return 0;
}

async function cancel({ client, console }: CommandContext, id: string): Promise<number> {
  const { name, status } = await client.cancelCampaign({ params: named(id) });
  console.log(`${name}: ${status}`);
  return 0;
}

async function showResults(context: CommandContext, id: string, options: ResultsOptions): Promise<number> {
  const { client, console, terminal } = context;
  const results = await client.viewCampaignResults({ params: { identifier: id }, query: options });
  console.log(recordTable({ 'counted until': results.as_of ?? 'not counted yet', ...results.total }, terminal.width));
  const codes = results.codes.map(({ group, code, messages, details, reason }) => [
    group.replaceAll('_', ' '),
    String(messages),
    code,
    details ?? reason,
  ]);
  if (codes.length > 0) console.log(`\n${table(['group', 'messages', 'code', 'reason'], codes, terminal.width)}`);
  printCounts(
    context,
    'day',
    results.days.map((day) => [day.day, day]),
  );
  printCounts(
    context,
    'variant',
    results.variants.map((variant) => [variant.name ?? variant.identifier, variant]),
  );
  return 0;
}

const COUNTS = [
  'messages',
  'sent',
  'confirmed',
  'taken',
  'unknown',
  'refused',
  'opened',
  'in_app',
  'shown',
  'clicked',
] as const;

function printCounts({ console, terminal }: CommandContext, of: string, rows: [string, ResultCounts][]): void {
  if (rows.length === 0) return;
  const cells = rows.map(([name, counts]) => [name, ...COUNTS.map((count) => String(counts[count]))]);
  console.log(`\n${table([of, ...COUNTS.map((count) => count.replaceAll('_', ' '))], cells, terminal.width)}`);
}
