/** A connector to copy for a new one. */
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { batcher } from '../core/batcher.ts';
import {
  type Batch,
  connector,
  type ConnectorContext,
  harmless,
  type Reading,
  secret,
  type Stream,
  refineBy,
} from '../core/contract.ts';
import { answerAs } from '../core/json-requests.ts';
import { recordItem } from '../core/json-record.ts';
import { isAhead, sayOddCursors, sayStuckCursor } from '../core/odd-cursors.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

const Settings = z.object({
  base_url: z
    .string({ error: 'give the address' })
    .superRefine(refineBy('base_url', sourceUrlError))
    .describe('Where its paths begin'),
  token: secret(z.string({ error: 'give the token' }).min(1, 'give the token')).describe(
    'Sent as Authorization: Bearer',
  ),
  page_size: harmless(z.int().min(1).max(1_000).default(500)).describe('How many records an answer has at most'),
});
type Settings = z.output<typeof Settings>;

const STREAMS: Stream[] = [
  {
    name: 'contacts',
    key: ['id'],
    incremental: { fields: ['updated_at'] },
    fields: [
      { name: 'id', type: 'integer', nullable: false },
      { name: 'email', type: 'string', nullable: true },
      { name: 'updated_at', type: 'datetime', nullable: false },
    ],
  },
];

/** The next page, null after the last; the time from which changes are requested; the newest time so far. */
const Position = z
  .object({ page: z.string().nullable(), since: z.string(), newest: z.string() })
  .catch({ page: '', since: '', newest: '' });

const Page = z.object({ data: z.array(z.unknown()), next_cursor: z.string().nullable() });

/** A template for new connectors: a JSON API with pages by a cursor, and changes since a time. */
export const template = connector({
  name: 'template',
  title: 'Template',
  settings: Settings,
  source: {
    check: async (settings, context) => {
      await pageOf(settings, 'contacts', { page: '', since: '' }, context);
    },
    discover: async () => STREAMS,
    read,
  },
});

async function* read(
  settings: Settings,
  { stream, mode, cursor }: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  if (!STREAMS.some(({ name }) => name === stream))
    throw sourceRefusal('source_refused', `There is no stream ${stream}`);
  const { add, odd, passed, rest } = batcher(cursor);
  let { page, since, newest } = Position.parse(cursor);
  let oddCursors = 0;
  if (mode === 'incremental') page ??= '';
  while (page !== null) {
    const { data, next_cursor: next, clockMs }: Answer = await pageOf(settings, stream, { page, since }, context);
    if (isAhead(Date.parse(since), clockMs)) {
      context.log(sayStuckCursor('updated_at'));
      [page, since, newest] = ['', '', ''];
      continue;
    }
    for (const value of data) {
      const text = JSON.stringify(value);
      const item = recordItem(value, text);
      yield* add(item, Buffer.byteLength(text));
      const time = item.kind === 'record' ? item.record['updated_at'] : null;
      if (typeof time !== 'string') continue;
      if (isAhead(Date.parse(time), clockMs)) {
        odd();
        oddCursors += 1;
      } else if (time > newest) {
        newest = time;
      }
    }
    page = next;
    // All pages of a reading have the same `since`; the next reading starts at the newest time of this one.
    if (page === null) since = newest;
    passed({ page, since, newest });
  }
  yield* rest();
  if (oddCursors > 0) context.log(sayOddCursors(oddCursors, 'updated_at'));
}

/** A page, and the source's clock in ms. */
type Answer = z.output<typeof Page> & { clockMs: number };

async function pageOf(
  { base_url: base, token, page_size: size }: Settings,
  stream: string,
  { page, since }: { page: string; since: string },
  { fetch, signal }: ConnectorContext,
): Promise<Answer> {
  const url = new URL(stream, base.replace(/\/?$/, '/'));
  url.search = `${new URLSearchParams({ limit: `${size}`, ...(page && { cursor: page }), ...(since && { updated_since: since }) })}`;
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch.request(url.href, { headers, signal, advice: 'check base_url and token' });
  return { ...(await answerAs(Page, answer)), clockMs: Date.parse(answer.headers['date'] ?? '') || Date.now() };
}
