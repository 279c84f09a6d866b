import { template } from '../../../connectors/template/template.ts';
import { type Answer, httpSource, status } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { sourceContract } from '../core/contract.ts';

const contact = (id: number, second: number) => ({
  id,
  email: personId(id),
  updated_at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
});

/** Answers as the API does: it refuses what that refuses, and gives pages, also of what has changed. */
const api =
  (rows: ReturnType<typeof contact>[]): Answer =>
  ({ url, headers }, response) => {
    if (headers.authorization !== 'Bearer zqtemplate-right') return void response.writeHead(401).end();
    const asked = new URL(url!, 'http://api').searchParams;
    const [since, from, limit] = [
      asked.get('updated_since') ?? '',
      Number(asked.get('cursor')),
      Number(asked.get('limit')),
    ];
    const found = rows.filter(({ updated_at: time }) => !(time < since));
    const page = {
      data: found.slice(from, from + limit),
      next_cursor: from + limit < found.length ? String(from + limit) : null,
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(page));
  };

sourceContract(template, async () => {
  const web = await httpSource();
  const records = Array.from({ length: 12_000 }, (_, id) => contact(id, id));
  const base_url = web.serve('/v1/contacts', api(records)).replace('/contacts', '');
  return {
    settings: { base_url, token: 'zqtemplate-right' },
    wrong: { settings: { base_url, token: 'zqtemplate-wrong' }, says: /401 Unauthorized: check base_url and token/ },
    stream: 'contacts',
    cursorField: 'updated_at',
    records,
    async change() {
      const changed = Array.from({ length: 100 }, (_, id) => contact(id, 20_000 + id));
      web.serve('/v1/contacts', api([...records.slice(100), ...changed]));
      return changed;
    },
    async lead() {
      const ahead = { ...contact(30_001, 0), updated_at: '2999-01-01T00:00:00.000Z' };
      const added = contact(30_002, 40_000);
      const serve = (more: typeof records) => web.serve('/v1/contacts', api([...records.slice(100), ...more]));
      serve([ahead]);
      return {
        odd: [ahead],
        more: async () => {
          serve([ahead, added]);
          return added;
        },
      };
    },
    async spoil() {
      web.serve('/v1/contacts', api([...records, ['no contact'] as never]));
      return /not a JSON object/;
    },
    async throttle() {
      web.serve('/v1/contacts', status(429, { 'retry-after': '17' }));
      return 17;
    },
  };
}, ['progress']);
