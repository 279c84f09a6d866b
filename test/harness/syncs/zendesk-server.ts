/**
 * A server with Zendesk's export of users, user fields and OAuth on loopback, that refuses what Zendesk refuses: wrong
 * credentials, a user who is no admin, a token without its scope or past its end, an eleventh call in a minute.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from '../../../connectors/core/contract.ts';
import { type Answer, httpSource } from '../core/http-source.ts';

type ZendeskUser = { id: number; active: boolean; updated_at: string; [member: string]: Json };
type Token = { scopes: string[]; callsLeft: number };
type Answered = { status: number; json: object; headers?: Record<string, string> };

type ZendeskSettings = {
  /** The clock of users, in ms. The window of calls counts real time. */
  now?: () => number;
  callsPerMinute?: number;
  /** After this number of calls an access token has expired. */
  tokenCalls?: number;
};

const MINUTE_MS = 60_000;
const MAX_PAGE = 1_000;
const MAX_FIELDS = 100;
export const EXPORT = '/api/v2/incremental/users/cursor.json';

/** Starts the server. It ends with the test file. */
export async function zendeskServer(settings: ZendeskSettings = {}) {
  const { now = Date.now, callsPerMinute = 10, tokenCalls = Infinity } = settings;
  const web = await httpSource();
  const users = new Map<number, ZendeskUser | string>();
  const fields: { key: string; type: string; active: boolean }[] = [];
  const tokens = new Map<string, Token>();
  const began: number[] = [];
  const credentials = {
    client_id: 'millrace',
    client_secret: randomBytes(24).toString('hex'),
    email: 'admin@example.com',
    api_token: randomBytes(20).toString('hex'),
  };
  const server = {
    url: '',
    ...credentials,
    /** In the order they came. */
    asked: web.asked,
    isAdmin: true,
    /** Creates or changes a user, and returns it as the export shows it; `at` in ms. */
    put(values: { id: number; [member: string]: Json }, at = now()): ZendeskUser {
      const updated_at = new Date(at).toISOString().replace(/\.\d+Z/, 'Z');
      const user = { active: true, ...(users.get(values.id) as object), ...values, updated_at };
      users.set(values.id, user);
      return user;
    },
    /** Has the export show this text as a user. */
    spoil: (id: number, shown: string) => users.set(id, shown),
    /** Soft-deletes a user, as Zendesk's users do. */
    remove: (id: number) => server.put({ id, active: false }),
    /** Leaves nothing of a user, as 30 days after its deletion. */
    erase: (id: number) => users.delete(id),
    field: (key: string, type: string, active = true) => fields.push({ key, type, active }),
    serve: web.serve,
  };

  const grant = (form: URLSearchParams): Answered => {
    const { client_id, client_secret } = credentials;
    const isRight = form.get('client_id') === client_id && form.get('client_secret') === client_secret;
    if (form.get('grant_type') !== 'client_credentials')
      return { status: 400, json: { error: 'unsupported_grant_type' } };
    if (!isRight) return { status: 401, json: { error: 'invalid_client', error_description: 'Client unknown' } };
    const token = randomBytes(32).toString('hex');
    const scope = form.get('scope') ?? '';
    const seconds = form.get('expires_in');
    tokens.set(token, { scopes: scope.split(' '), callsLeft: tokenCalls });
    // Zendesk names the end of a token only to who asks for one.
    const ends = seconds === null ? {} : { expires_in: Number(seconds) };
    return { status: 200, json: { access_token: token, token_type: 'bearer', scope, ...ends } };
  };

  /** Returns the answer to who may not ask; null for others. */
  const refused = ({ headers: { authorization = '' } }: IncomingMessage): Answered | null => {
    const [scheme, given = ''] = authorization.split(' ');
    if (scheme === 'Basic') {
      const isRight = Buffer.from(given, 'base64').toString() === `${credentials.email}/token:${credentials.api_token}`;
      if (!isRight) return { status: 401, json: { error: "Couldn't authenticate you" } };
    } else {
      const token = tokens.get(given);
      if (!token || token.callsLeft <= 0) return { status: 401, json: { error: 'invalid_token' } };
      token.callsLeft -= 1;
      if (!token.scopes.includes('read')) return { status: 403, json: { error: 'Forbidden' } };
    }
    return server.isAdmin ? null : { status: 403, json: { error: 'Forbidden' } };
  };

  /** Returns the seconds until the next call; counts this one if there are none. */
  const secondsToWait = (): number => {
    const at = Date.now();
    while (began.length > 0 && began[0]! <= at - MINUTE_MS) began.shift();
    if (began.length >= callsPerMinute) return Math.ceil((began[0]! + MINUTE_MS - at) / 1_000);
    began.push(at);
    return 0;
  };

  const exportUsers = (query: URLSearchParams): Answered => {
    const seconds = secondsToWait();
    if (seconds > 0)
      return { status: 429, json: { error: 'TooManyRequests' }, headers: { 'retry-after': `${seconds}` } };
    const invalid = { status: 400, json: { error: 'InvalidValue' } };
    const size = Number(query.get('per_page') ?? MAX_PAGE);
    if (!(size >= 1 && size <= MAX_PAGE)) return invalid;
    const from = positionIn(query);
    const until = Math.floor((now() - MINUTE_MS) / 1_000); // the last minute is left out
    if (from === null || from[0] > until) return invalid;
    const placeOf = (id: number, shown: ZendeskUser | string): [number, number] => [
      typeof shown === 'string' ? 0 : Date.parse(shown.updated_at) / 1_000,
      id,
    ];
    const left = [...users]
      .map(([id, shown]) => ({ shown, place: placeOf(id, shown) }))
      .filter(({ place }) => isBehind(place, from) && place[0] <= until)
      .toSorted(({ place: a }, { place: b }) => a[0] - b[0] || a[1] - b[1]);
    const page = left.slice(0, size);
    const last = page.at(-1)?.place;
    const after_cursor = last ? Buffer.from(`${last[0]}.0||${last[1]}|`).toString('base64') : null;
    const json = {
      users: page.map(({ shown }) => shown),
      after_cursor,
      after_url: after_cursor && `${server.url}${EXPORT}?cursor=${encodeURIComponent(after_cursor)}`,
      before_cursor: null,
      end_of_stream: left.length <= size,
    };
    return { status: 200, json };
  };

  const listFields = (query: URLSearchParams): Answered => {
    const [from, size] = [Number(query.get('page[after]')), Number(query.get('page[size]') ?? MAX_FIELDS)];
    const next = from + Math.min(size, MAX_FIELDS);
    const meta = { has_more: next < fields.length, after_cursor: `${next}` };
    return { status: 200, json: { user_fields: fields.slice(from, next), meta } };
  };

  const reader =
    (work: (query: URLSearchParams) => Answered): Answer =>
    (request, response) =>
      send(response, refused(request) ?? work(new URL(request.url!, 'http://zendesk').searchParams));
  server.url = new URL(web.serve(EXPORT, reader(exportUsers))).origin;
  web.serve('/api/v2/user_fields.json', reader(listFields));
  web.serve('/oauth/tokens', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => send(response, grant(new URLSearchParams(Buffer.concat(chunks).toString()))));
  });
  return server;
}

function send(response: ServerResponse, { status, json, headers }: Answered): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    .end(JSON.stringify(json));
}

const isBehind = (place: [number, number], from: [number, number]) =>
  place[0] > from[0] || (place[0] === from[0] && place[1] > from[1]);

/** Returns the second and the id behind which a page begins; null if the query names none. */
function positionIn(query: URLSearchParams): [number, number] | null {
  const cursor = query.get('cursor');
  if (cursor === null) return query.has('start_time') ? [Number(query.get('start_time')), -1] : null;
  const [, second, id] = /^(\d+)\.0\|\|(\d+)\|$/.exec(Buffer.from(cursor, 'base64').toString()) ?? [];
  return second === undefined ? null : [Number(second), Number(id)];
}
