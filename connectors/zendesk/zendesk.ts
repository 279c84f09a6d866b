/** Connector that reads users from Zendesk by its cursor-based export, in which deleted users come as deletions. */
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { HOUR_MS, MINUTE_MS } from '../../domain/time/durations.ts';
import { sendWithToken, type TokenSource } from '../core/access-token.ts';
import { batcher } from '../core/batcher.ts';
import { credential, wholeNumber } from '../core/common-settings.ts';
import {
  type Batch,
  connector,
  type ConnectorContext,
  type Field,
  harmless,
  type ReadItem,
  type Reading,
  refineBy,
  secret,
  type SourceRecord,
  type Stream,
} from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { malformed, recordItem } from '../core/json-record.ts';
import { answerAs, TooLargeAnswer } from '../core/json-requests.ts';
import { KeptValues } from '../core/kept-values.ts';
import { CallWindow } from '../core/pace.ts';
import { stuckPage } from '../core/pages-ahead.ts';
import { refusalOfAnswer, sourceRefusal } from '../core/source-refusal.ts';

/** The kinds of credentials; a connection has one. */
const KINDS = [['client_id', 'client_secret'], ['access_token'], ['email', 'api_token']] as const;
type Credentials = { [name in (typeof KINDS)[number][number]]?: string | undefined };
const chosenKinds = (given: Credentials) => KINDS.filter((kind) => kind.some((name) => given[name] !== undefined));

const Settings = z
  .object({
    address: z
      .string({ error: 'address must be a text' })
      .superRefine(refineBy('address', sourceUrlError))
      .describe('The address of the account, such as https://acme.zendesk.com'),
    client_id: credential('client_id').optional().describe('The identifier of a confidential OAuth client'),
    client_secret: secret(credential('client_secret')).optional().describe('The secret of the OAuth client'),
    access_token: secret(credential('access_token')).optional().describe('An access token with the scope read'),
    email: credential('email').optional().describe('The address of an admin, for api_token'),
    api_token: secret(credential('api_token'))
      .optional()
      .describe('An API token, which Zendesk takes until 2027-04-30'),
    calls_per_minute: harmless(wholeNumber('calls_per_minute', 1, 1_000).default(10)).describe(
      'Calls of the export in a minute, which all apps of an account share; Zendesk allows 10',
    ),
  })
  .refine(
    (settings) =>
      chosenKinds(settings).length === 1 && chosenKinds(settings)[0]!.every((name) => settings[name] !== undefined),
    {
      message: `either ${KINDS.map((kind) => kind.join(' and ')).join(', or ')} must be set`,
      path: ['client_id'],
    },
  );
type Settings = z.output<typeof Settings>;

/** Fields that are members of a user (developer.zendesk.com, Users), by type; custom fields follow them. */
const MEMBERS = [
  ['integer', 'id organization_id'],
  ['string', 'name email phone alias external_id role details notes locale time_zone iana_time_zone'],
  ['boolean', 'verified suspended'],
  ['datetime', 'created_at updated_at last_login_at'],
  ['array', 'tags'],
] as const;
const FIELDS: Field[] = MEMBERS.flatMap(([type, names]) =>
  names.split(' ').map((name) => ({ name, type, nullable: name !== 'id' })),
);
const NAMES = new Set(FIELDS.map(({ name }) => name));
const CUSTOM = 'user_fields';
/** Types of custom fields; all others are strings. A date comes as a time. */
const TYPES = new Map<string, Field['type']>(
  Object.entries({
    checkbox: 'boolean',
    date: 'datetime',
    decimal: 'number',
    integer: 'integer',
    multiselect: 'array',
  } as const),
);

const UserFields = z.object({
  [CUSTOM]: z.array(z.object({ key: z.string(), type: z.string(), active: z.boolean() })),
  meta: z.object({ has_more: z.boolean(), after_cursor: z.string().nullish() }),
});
const Page = z.object({
  users: z.array(z.unknown()),
  after_cursor: z.string().nullish(),
  end_of_stream: z.boolean(),
});
/** The cursor of Zendesk behind the last page; null before the first one. */
const Position = z.object({ after: z.string().nullable() }).catch({ after: null });

const EXPORT = '/api/v2/incremental/users/cursor.json';
const MAX_USERS = 1_000;
/** Maximum size of a page in bytes; a larger one is read anew as smaller ones. */
const MAX_BYTES = 16 * 1024 * 1024;

export const zendesk = connector({
  name: 'zendesk',
  title: 'Zendesk',
  settings: Settings,
  source: {
    reportsDeletions: true,
    async check(settings, context) {
      // Without a turn: a check must answer soon, and Zendesk itself says if the calls of the minute are used up.
      await answerAs(Page, await call(settings, EXPORT, { start_time: '0', per_page: '1' }, context));
    },
    discover,
    read,
  },
});

async function discover(settings: Settings, context: ConnectorContext): Promise<Stream[]> {
  const fields = [...FIELDS];
  for (let after = '', isLast = false; !isLast;) {
    const query = { 'page[size]': '100', ...(after && { 'page[after]': after }) };
    const answer = await call(settings, `/api/v2/${CUSTOM}.json`, query, context);
    const { [CUSTOM]: custom, meta } = await answerAs(UserFields, answer);
    for (const { key, type, active } of custom) {
      if (active) fields.push({ name: `${CUSTOM}.${key}`, type: TYPES.get(type) ?? 'string', nullable: true });
    }
    const next = meta.after_cursor ?? after;
    isLast = !meta.has_more;
    if (!isLast && next === after) throw stuckPage(new URL(settings.address).host);
    after = next;
  }
  return [{ name: 'users', key: ['id'], incremental: 'own', fields }];
}

async function* read(
  settings: Settings,
  { stream, cursor, fields }: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  if (stream !== 'users') throw sourceRefusal('source_refused', `There is no stream ${stream}: choose users`);
  const { addAll, passed, rest } = batcher(cursor);
  const wanted = fields && new Set([...fields, 'id']);
  for (let { after } = Position.parse(cursor), isLast = false; !isLast;) {
    const page: z.output<typeof Page> = await pageBehind(after, settings, context);
    const next = page.after_cursor ?? after;
    isLast = page.end_of_stream;
    if (!isLast && next === after) throw stuckPage(new URL(settings.address).host);
    yield* addAll(page.users.map((user) => itemOf(user, wanted)));
    after = next;
    passed({ after });
    yield* rest(); // a page is six seconds of the account's calls: none is read twice
  }
}

/** Returns a user as an item with the fields that are wanted (null: all), and its size. */
function itemOf(user: unknown, wanted: Set<string> | null): [ReadItem, number] {
  const text = JSON.stringify(user);
  const bytes = Buffer.byteLength(text);
  const item = recordItem(user, text);
  if (item.kind !== 'record') return [item, bytes];
  const { id, active, [CUSTOM]: custom, ...members } = item.record;
  if (typeof id !== 'number' && typeof id !== 'string') return [malformed(text, 'a user has no id'), bytes];
  const values = [
    ...Object.entries({ id, ...members }).filter(([name]) => NAMES.has(name)),
    ...Object.entries(custom ?? {}).map(([key, value]) => [`${CUSTOM}.${key}`, value] as const),
  ];
  const record: SourceRecord = Object.fromEntries(values.filter(([name]) => wanted?.has(name) ?? true));
  const key = `${id}`;
  return [active === false ? { kind: 'deleted', key, customer: record } : { kind: 'record', key, record }, bytes];
}

const MAX_KEPT = 1_000;
const windows = new KeptValues<CallWindow>(MAX_KEPT, HOUR_MS);
/** Calls may arrive closer together than they begin, so the window is a little longer than Zendesk's. */
const WINDOW_MS = 1.05 * MINUTE_MS;

/** Returns the users that have changed since a cursor; null: all users. */
async function pageBehind(
  after: string | null,
  settings: Settings,
  context: ConnectorContext,
  size = MAX_USERS,
): Promise<z.output<typeof Page>> {
  const { address, calls_per_minute: calls } = settings;
  const name = `${calls} ${new URL(address).origin}`;
  await windows.of(name, () => new CallWindow({ calls, windowMs: WINDOW_MS })).turn(context.signal);
  const query = { per_page: `${size}`, ...(after === null ? { start_time: '0' } : { cursor: after }) };
  try {
    return await answerAs(Page, await call(settings, EXPORT, query, context), MAX_BYTES);
  } catch (error) {
    if (!(error instanceof TooLargeAnswer) || size === 1) throw error;
    return pageBehind(after, settings, context, Math.ceil(size / 2));
  }
}

async function call(
  settings: Settings,
  path: string,
  query: Record<string, string>,
  context: ConnectorContext,
): Promise<GuardedAnswer> {
  const { fetch, signal } = context;
  const url = new URL(path, settings.address);
  url.search = `${new URLSearchParams(query)}`;
  const advice = adviceOf(settings);
  const expiry = { isExpired: async ({ status }: GuardedAnswer) => status === 401, advice: advice[401] };
  const scheme = settings.api_token === undefined ? 'Bearer' : 'Basic';
  const answer = await sendWithToken('zendesk', tokenOf(settings), expiry, context, (token) => {
    const headers = { Authorization: `${scheme} ${token}`, Accept: 'application/json' };
    return fetch.request(url.href, { headers, signal, answers: [400, 401, 403, 404, 422] });
  });
  const { status } = answer;
  if (status <= 299) return answer;
  if ('cursor' in query && (status === 400 || status === 422)) {
    throw sourceRefusal('source_changed', `${url.host} no longer takes the cursor of the last reading`);
  }
  throw refusalOfAnswer(url.host, status, undefined, advice[status === 403 ? 403 : 404]);
}

function adviceOf(settings: Settings) {
  const names = chosenKinds(settings)[0]!.join(' and ');
  return {
    401: `it does not take the credentials: check ${names}`,
    403: `the export is for admins alone, and for tokens with the scope read: check ${names}`,
    404: 'check the address, such as https://acme.zendesk.com',
  };
}

function tokenOf(settings: Settings): TokenSource {
  const { address, client_id: id, client_secret: clientSecret = '', access_token: token, email, api_token } = settings;
  if (id === undefined) return { token: token ?? Buffer.from(`${email}/token:${api_token}`).toString('base64') };
  const client = { client_id: id, client_secret: clientSecret };
  const grant = {
    url: new URL('/oauth/tokens', address).href,
    // Zendesk says when a token ends only if it is asked for a time, from 300 to 172,800 s.
    form: { grant_type: 'client_credentials', ...client, scope: 'read', expires_in: '3600' },
    advice: 'check client_id and client_secret, and that the client is confidential and may have the scope read',
  };
  return { credentials: [address, id, clientSecret], grant: async () => grant };
}
