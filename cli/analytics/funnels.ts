/** The command `millrace funnels`: stored funnels, how many people take their steps, and what they do after. */
import type { Command } from 'commander';
import { type BodyOf, type Client, type Funnel, type FunnelStats, stringify } from '../../api/client.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { resolveNamed } from '../core/nearest.ts';
import { readJsonObject } from '../core/read-input.ts';
import { table } from '../core/table.ts';

type PeriodOptions = { from?: string; till?: string; fast?: true; aliases?: true };
type CountOptions = PeriodOptions & { by?: string };
type PeopleOptions = PeriodOptions & { step: string; dropped?: true };
type ExploreOptions = PeriodOptions & { after: string; dropped?: true };

const FUNNEL = ['<funnel>', 'its name or identifier'] as const;
const PERIOD = [
  ['--from <day>', 'the first day in UTC, such as 2026-01-31; by default 30 days ago'],
  ['--till <day>', 'the last day in UTC; by default today'],
  ['--fast', 'count a sample of people, and say how far the numbers may be off'],
  ['--aliases', 'count an earlier id of a person as that person'],
] as const;
const DAYS = 30;

export const addFunnelsCommand = (program: Command, run: Run) =>
  addGroup<Funnel>(program, run, {
    name: 'funnels',
    description: 'people who take steps one after the other, and where they stop; steps count from 0',
    columns: {
      identifier: ({ identifier }) => identifier,
      name: ({ name }) => name,
      steps: ({ steps }) => steps.map(stepName).join(', '),
      state: ({ archived }) => (archived ? 'archived' : ''),
      labels: ({ labels }) => labels.join(', '),
    },
    commands: [
      { name: 'list', isDefault: true, description: 'list them', does: ({ client }) => client.listFunnels() },
      {
        name: 'view',
        description: 'show one with its steps, as JSON that `create` takes',
        args: [FUNNEL],
        async does({ client, setResult }, _, given: string) {
          const { identifier } = await findFunnel(client, given);
          const funnel = await client.viewFunnel({ params: { identifier } });
          setResult(funnel);
          return stringify(funnel, 2);
        },
      },
      {
        name: 'create',
        description: 'store one of a JSON file with name and steps, as docs/funnels.md shows; - for standard input',
        args: [['<file>']],
        async does(context, _, file: string) {
          const hint = 'write the funnel as {"name": "Sale", "steps": [{"match_name": […]}]}';
          return context.client.createFunnel({
            body: (await readJsonObject(context, file, hint)) as BodyOf<'createFunnel'>,
          });
        },
      },
      {
        name: 'count',
        description: 'count the people who complete each step',
        args: [FUNNEL],
        options: [
          ...PERIOD,
          ['--by <property>', 'divide people by week, app_version, country_code, detail.<member> and others'],
        ],
        does: (context, options: CountOptions, given: string) => count(context, options, given),
      },
      {
        name: 'people',
        description: 'list the latest hundred people of a step; each has an entry in the audit log',
        args: [FUNNEL],
        options: [
          ...PERIOD,
          ['--step <n>', 'people who completed this step'],
          ['--dropped', 'people who completed the step before it, and not this one'],
        ],
        does: (context, options: PeopleOptions, given: string) => listPeople(context, options, given),
      },
      {
        name: 'explore',
        description: 'list what people do after a step, the most frequent event first',
        args: [FUNNEL],
        options: [
          ...PERIOD,
          ['--after <n>', 'the step'],
          ['--dropped', 'only people who did not complete the step after it'],
        ],
        does: (context, options: ExploreOptions, given: string) => explore(context, options, given),
      },
      {
        name: 'archive',
        description: "archive one: its labels can't change until it is restored",
        args: [FUNNEL],
        does: async ({ client }, _, given: string) => client.archiveFunnel({ params: await idOf(client, given) }),
      },
      {
        name: 'restore',
        description: 'restore an archived one',
        args: [FUNNEL],
        does: async ({ client }, _, given: string) => client.restoreFunnel({ params: await idOf(client, given) }),
      },
    ],
  });

async function findFunnel(client: Client, given: string): Promise<Funnel> {
  const result = resolveNamed(await client.listFunnels(), given, ['funnel', 'funnels']);
  return 'found' in result ? result.found : refuse(404, 'not_found', result.error);
}

const idOf = async (client: Client, given: string) => ({ identifier: (await findFunnel(client, given)).identifier });

const stepName = ({ match_name: names }: Funnel['steps'][number]): string =>
  [...new Set(names.map(({ log_name: name }) => name))].join(' or ');

/** Returns what each count takes: the app of the first step, days, and the steps. */
async function asked(client: Client, { from, till, fast, aliases }: PeriodOptions, given: string) {
  const { steps, max_duration: seconds } = await findFunnel(client, given);
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const now = Date.now();
  return {
    steps,
    query: {
      app_id: steps[0]!.match_name[0]!.app_id,
      from: from ?? dayOf(now - (DAYS - 1) * DAY_MS),
      till: till ?? dayOf(now),
      mode: fast ? ('fast' as const) : ('accurate' as const),
      ...(aliases && { aliases: true }),
    },
    body: { funnel: { max_duration: seconds, steps } },
  };
}

type Estimate = Pick<FunnelStats, 'completions' | 'completions_error' | 'exact'>;

const number = (value: number) => value.toLocaleString('en');
const percent = (share: number | null) => (share === null ? '–' : `${(100 * share).toFixed(1)} %`);
const seconds = (value: number | null | undefined) => (typeof value === 'number' ? `${value.toFixed(1)} s` : '');

const people = ({ completions, completions_error: error, exact }: Estimate) =>
  exact ? number(completions) : `${number(completions)} ± ${number(error)}`;

async function count({ client, terminal }: CommandContext, { by, ...options }: CountOptions, given: string) {
  const { steps, query, body } = await asked(client, options, given);
  const stats = await client.quickFunnelStats({
    query: { ...query, ...(by !== undefined && { breakdown: by }) },
    body,
  });
  const before = (nth: number) => (stats[nth]!.step === 0 ? null : (stats[nth - 1]?.completions ?? null));
  const rows = stats.map((one, nth) => [
    ...(by === undefined ? [] : [one.breakdown ?? 'no value']),
    String(one.step),
    stepName(steps[one.step]!),
    people(one),
    percent(one.share),
    before(nth) === null ? '' : percent(before(nth) === 0 ? null : one.completions / before(nth)!),
    seconds(one.since_previous?.median),
    seconds(one.since_previous?.nine_in_ten),
  ]);
  const heads = ['step', 'event', 'people', 'of the first', 'of the one before', 'median', 'nine in ten'];
  return table([...(by === undefined ? [] : [by]), ...heads], rows, terminal.width);
}

async function listPeople(
  { client, console, terminal }: CommandContext,
  { step, dropped, ...options }: PeopleOptions,
  given: string,
) {
  if (step === undefined) refuse(400, 'bad_request', 'Name the step: --step 1');
  const { query, body } = await asked(client, options, given);
  const outcome = dropped ? ('dropped' as const) : ('completed' as const);
  const found = await client.listFunnelPeople({ query: { ...query, step, outcome }, body });
  console.error(`The latest ${found.people.length} of ${people(found)}.`);
  const rows = found.people.map((one) => [one.user_id ?? '', one.device_id ?? '', one.last_completed_at]);
  return found.people.length === 0 ? 'no person was found' : table(['user', 'device', 'last'], rows, terminal.width);
}

async function explore(
  { client, terminal }: CommandContext,
  { after, dropped, ...options }: ExploreOptions,
  given: string,
) {
  if (after === undefined) refuse(400, 'bad_request', 'Name the step: --after 0');
  const { query, body } = await asked(client, options, given);
  const found = await client.exploreFunnel({
    query: { ...query, position: after, ...(dropped && { dropped: true }) },
    body,
  });
  const rows = found.map((one) => [one.display_name, people(one), seconds(one.average_duration)]);
  return found.length === 0 ? 'no event was found' : table(['event', 'people', 'after'], rows, terminal.width);
}
