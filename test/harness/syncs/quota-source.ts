/** A connector for tests whose source has a quota of calls. The catalog has it once this file is imported. */
import { z } from 'zod';
import { connectors } from '../../../connectors/catalog.ts';
import { batcher } from '../../../connectors/core/batcher.ts';
import { type Batch, connector, type ConnectorContext, type Reading } from '../../../connectors/core/contract.ts';
import { recordItem } from '../../../connectors/core/json-record.ts';
import { answerAs } from '../../../connectors/core/json-requests.ts';
import { keepToShare } from '../../../connectors/core/pace.ts';

/** Share of the quota in percent that syncs may use. */
const SHARE = 80;

const Settings = z.object({ url: z.string().describe('Where its pages are') });
const Position = z.object({ page: z.int() }).catch({ page: 0 });
const Page = z.object({
  records: z.array(z.unknown()),
  isLast: z.boolean(),
  quota: z.object({ used: z.int(), limit: z.int(), resetsAtMs: z.int() }),
});
export type QuotaPage = z.output<typeof Page>;

async function* read(
  { url }: z.output<typeof Settings>,
  { cursor }: Reading,
  { fetch, signal }: ConnectorContext,
): AsyncGenerator<Batch> {
  const { add, passed, rest } = batcher(cursor);
  for (let { page } = Position.parse(cursor); ;) {
    const answer = await fetch.request(`${url}?page=${page}`, { signal });
    const { records, isLast, quota } = await answerAs(Page, answer);
    for (const record of records) yield* add(recordItem(record, JSON.stringify(record)), 100);
    page += records.length === 0 ? 0 : 1;
    passed({ page });
    yield* rest();
    if (isLast) return;
    keepToShare(new URL(url).host, quota, SHARE);
  }
}

connectors.push(
  connector({
    name: 'quota',
    title: 'A source with a quota',
    settings: Settings,
    source: {
      check: async () => undefined,
      discover: async () => [
        {
          name: 'contacts',
          key: ['email'],
          incremental: { fields: [] },
          fields: ['email', 'tariff'].map((name) => ({ name, type: 'string', nullable: false }) as const),
        },
      ],
      read,
    },
  }),
);
