/** The command `millrace sends`: the requests of a campaign, what became of their messages, and why. */
import { type Command, Option } from 'commander';
import type { ExplainedDelivery, SendState, SentDecision } from '../../api/client.ts';
import { type AttemptCode, ATTEMPT_CODES, SENT_OUTCOMES, type SentOutcome } from '../../domain/sends/attempt.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readLimit } from '../core/read-limit.ts';
import { recordTable } from '../core/group.ts';
import { sayValue, table } from '../core/table.ts';

type ListOptions = { limit: string };
type DecisionOptions = ListOptions & { code?: AttemptCode; outcome?: SentOutcome };
type WhyOptions = { device?: true };

const REQUEST = ['<request>', 'id of the request, which begins with snd_'] as const;
const LIMIT = ['--limit <n>', 'maximum number of entries, from 1 to 10,000', '50'] as const;

export function addSendsCommand(program: Command, run: Run): void {
  const sends = program
    .command('sends')
    .description('requests to send messages of transactional campaigns, and what became of each message');
  sends
    .command('list')
    .description('list the requests of a campaign in the last 30 days, newest first')
    .argument('<campaign>', 'id of the campaign')
    .option('--limit <n>', 'maximum number of entries, from 1 to 10,000', '20')
    .action((campaign: string, options: ListOptions) => run((context) => list(context, campaign, options)));
  sends
    .command('view')
    .description(
      'show a request: how many pushes left, were confirmed, taken, unknown and refused, and the others by code',
    )
    .argument(...REQUEST)
    .action((request: string) => run((context) => view(context, request)));
  sends
    .command('decisions')
    .description('list what became of the messages of a request; each page has an entry in the audit log')
    .argument(...REQUEST)
    .addOption(new Option('--code <code>', 'only these').choices(Object.keys(ATTEMPT_CODES)))
    .addOption(new Option('--outcome <outcome>', 'only these of the pushes that left').choices(SENT_OUTCOMES))
    .option(...LIMIT)
    .action((request: string, options: DecisionOptions) => run((context) => decisions(context, request, options)));
  sends
    .command('cancel')
    .description('cancel a request: pushes that have not left, and in-app messages that no device has shown')
    .argument(...REQUEST)
    .action((request: string) => run((context) => cancel(context, request)));
  sends
    .command('why')
    .description('show why a person gets the messages of a campaign, or does not; it has an entry in the audit log')
    .argument('<user>', 'user id')
    .argument('<campaign>', 'id of the campaign')
    .option('--device', 'it is the id of a device')
    .action((id: string, campaign: string, options: WhyOptions) =>
      run((context) => why(context, id, campaign, options)),
    );
}

const PAGE = { requests: 50, decisions: 500 };

async function list(
  { client, console, terminal, setResult }: CommandContext,
  identifier: string,
  options: ListOptions,
) {
  const sends = await pagesOf(readLimit(options), PAGE.requests, (page) =>
    client.listCampaignSends({ params: { identifier }, query: page }),
  );
  setResult(sends);
  const heads = ['request', 'state', 'received', 'messages', 'left', 'confirmed', 'taken', 'unknown', 'refused'];
  console.log(sends.length === 0 ? 'no request in the last 30 days' : table(heads, sends.map(rowOf), terminal.width));
  return 0;
}

function rowOf({ requestId, state, received_at: received, messages, sent }: SendState): string[] {
  const counts = [messages, sent.sent, sent.confirmed, sent.taken, sent.unknown, sent.refused];
  return [requestId, state, received.slice(0, 19), ...counts.map(String)];
}

async function view({ client, console, terminal, setResult }: CommandContext, request: string): Promise<number> {
  const send = await client.viewSend({ params: { request_id: request } });
  setResult(send);
  const { requestId, state, messages, processed, sent, codes, campaigns, received_at, ended_at, next_at } = send;
  const record = {
    request: requestId,
    state,
    campaigns: campaigns.map(({ name }) => name).join(', '),
    messages,
    processed,
  };
  console.log(recordTable({ ...record, received_at, ended_at, next_at }, terminal.width));
  console.log(
    `\n${sent.sent} pushes left = ${sent.confirmed} confirmed + ${sent.taken} taken + ${sent.unknown} unknown + ${sent.refused} refused`,
  );
  const rows = Object.entries(codes).map(([code, count]) => [code, String(count), ATTEMPT_CODES[code as AttemptCode]]);
  if (rows.length > 0) console.log(`\n${table(['code', 'devices', 'meaning'], rows, terminal.width)}`);
  return 0;
}

async function cancel({ client, console, setResult }: CommandContext, request: string): Promise<number> {
  setResult(await client.cancelSend({ params: { request_id: request } }));
  console.log('canceled: what has left stays');
  return 0;
}

async function decisions(context: CommandContext, request: string, options: DecisionOptions): Promise<number> {
  const { client, console, terminal, setResult } = context;
  const { code, outcome } = options;
  const found = await pagesOf(readLimit(options), PAGE.decisions, (page) =>
    client.listSendDecisions({
      params: { request_id: request },
      query: { ...page, ...(code && { code }), ...(outcome && { outcome }) },
    }),
  );
  setResult(found);
  const heads = ['line', 'user', 'device', 'code', 'confirmed', 'reason'];
  console.log(found.length === 0 ? 'no messages' : table(heads, found.map(decisionRow), terminal.width));
  return 0;
}

function decisionRow({
  line,
  erased,
  user,
  device_id: device,
  code,
  reason,
  details,
  ...rest
}: SentDecision): string[] {
  if (erased) return [String(line), 'erased person', '', '', '', ''];
  const steps = [rest.delivered_at, rest.opened_at, rest.shown_at, rest.clicked_at];
  const words = ['delivered', 'opened', 'shown', 'clicked'].filter((_, index) => steps[index] !== null);
  return [
    String(line),
    user ?? '',
    device ?? '',
    code,
    words.join(' '),
    details === null ? reason : `${reason}; ${details}`,
  ];
}

async function why(
  { client, console, terminal, setResult }: CommandContext,
  id: string,
  campaign: string,
  { device }: WhyOptions,
): Promise<number> {
  const of = device ? { device_id: id } : { user_id: id };
  const explained = await client.explainDelivery({ body: { ...of, campaign_id: campaign } });
  setResult(explained);
  const { campaign_name: name, status, reaches, sent, opened, erased } = explained;
  console.log(
    recordTable({ campaign: name, status, ...(erased ? { erased } : { reaches, sent, opened }) }, terminal.width),
  );
  const rows = linesOf(explained);
  if (rows.length > 0) console.log(`\n${table(['of', 'check', 'result', 'found'], rows, terminal.width)}`);
  const past = explained.decisions.map(({ date, device_id, code, reason }) => [
    date.slice(0, 19),
    device_id ?? '',
    code,
    reason,
  ]);
  if (past.length > 0) console.log(`\n${table(['at', 'device', 'code', 'reason'], past, terminal.width)}`);
  return 0;
}

/** Returns a row for each line about the person, each filter of the audience, and each line about a device. */
function linesOf({ lines, audience, devices }: ExplainedDelivery): string[][] {
  const filters = (audience?.blocks ?? []).map(({ met, filters: of }, index) => [
    'person',
    `filters ${index + 1}`,
    met ? 'passes' : 'stops',
    sayValue(of),
  ]);
  return [
    ...lines.map(({ check, result, found }) => ['person', sayCheck(check), result, found]),
    ...filters,
    ...devices.flatMap(({ device_id: id, lines: own }) =>
      own.map(({ check, result, found }) => [id, sayCheck(check), result, found]),
    ),
  ];
}

const sayCheck = (check: string): string => check.replaceAll('_', ' ');

type Page<T> = { items: T[]; next: string | null };

/** Reads page after page, at most `max` entries. */
async function pagesOf<T>(
  max: number,
  most: number,
  read: (page: { per_page: number; cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const found: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null && found.length < max;) {
    const page: Page<T> = await read({
      per_page: Math.min(max - found.length, most),
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...page.items);
    cursor = page.next && new URL(page.next).searchParams.get('cursor');
  }
  return found;
}
