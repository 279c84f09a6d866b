import { describe, expect, it } from 'vitest';
import { createCampaign } from '../../../api/campaigns/campaigns.ts';
import { campaignErrors, datesOf } from '../../../domain/campaigns/campaign-body.ts';
import { variantParams } from '../../../domain/campaigns/variants.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { validate } from '../../../server/http/validate.ts';

const NOW = new Date('2026-11-24T12:00:00Z');
const at = (iso: string) => Date.parse(iso) / 1_000;
const TOMORROW = at('2026-11-25T12:00:00Z');

type Body = Record<string, unknown> & { params: Record<string, unknown> };

const PUSH: Body = {
  name: 'Sale',
  type: 'classic',
  source: 'API',
  app_id: 'app_1',
  includes_push: true,
  includes_inapp: false,
  start_date: 'now',
  params: { push_message: 'Half price' },
};
const NATIVE = { inapp: 'native', message_title: 'Sale', message_content: 'Half price', message_btn: 'OK' };
const INAPP: Body = { ...PUSH, includes_push: false, includes_inapp: true, params: NATIVE };
const PAGE: Body = { ...INAPP, params: { inapp: 'url', inapp_content_url: 'https://shop.example.com/sale' } };
const DYNAMIC: Body = {
  ...PUSH,
  type: 'dynamic',
  end_date: TOMORROW,
  recurrence: { day_of_week: [0, 6] },
  notif_limit: { maximum: 3, interval: 24 },
};

/** A body with these members set; those that are undefined are left out. */
function withThese(body: Body, { params, ...others }: Partial<Body>): Body {
  return JSON.parse(JSON.stringify({ ...body, ...others, params: { ...body.params, ...params } })) as Body;
}

function readBody(body: Body) {
  return validate(createCampaign.body!, body, 'body');
}

/** What a body is refused for, by field. */
function errorsOf(body: Body): Record<string, string> {
  try {
    return Object.fromEntries(campaignErrors(readBody(body), NOW).map(({ element, message }) => [element, message]));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return Object.fromEntries(error.extra.messages!.map(({ element, message }) => [element, message]));
  }
}

const A = { key: 'a', value: '1' };
const [A_50, B_50] = [
  { name: 'A', share: 50 },
  { name: 'B', share: 50, params: {} },
];
const IN_SEGMENT = { filter_on: 'segments', selection: 'any_of', segment_identifiers: ['seg_1'], operator: 'is_in' };
const TYPES = ['classic', 'transactional', 'dynamic'] as const;

describe('a body', () => {
  it('with what its type requires is sound', () => {
    for (const body of [PUSH, INAPP, PAGE, DYNAMIC]) expect(errorsOf(body)).toEqual({});
    for (const type of ['classic', 'transactional']) {
      for (const body of [PUSH, INAPP, PAGE]) expect(errorsOf({ ...body, type })).toEqual({});
    }
    expect(
      errorsOf({
        ...DYNAMIC,
        ...INAPP,
        type: 'dynamic',
        params: { ...NATIVE, push_message: 'x' },
        includes_push: true,
      }),
    ).toEqual({});
  });

  it('makes no message that is too large for any device', () => {
    const message = 'must make messages of at most 32768 bytes, texts and parameters together';
    expect(errorsOf(withThese(INAPP, { params: { message_content: '😀'.repeat(10_000) } }))).toEqual({
      params: message,
    });
    const parameters = Array.from({ length: 20 }, (_, nth) => ({ key: `k${nth}`, value: 'é'.repeat(1_000) }));
    expect(errorsOf(withThese(PUSH, { params: { push_parameters: parameters } }))).toEqual({ params: message });
  });

  it('has defaults, and loses what the reference does not know', () => {
    const body = withThese(PUSH, {
      color: 'red',
      end_date: null,
      params: { color: 'red', push_title: '', message_title: null },
    });
    expect(readBody(body)).toEqual({
      ...PUSH,
      adapt_tz: false,
      skip_message_limit: false,
      sensitive: false,
      params: {
        push_message: 'Half price',
        push_includes_sound: true,
        expire_after: 604_800,
        push_parameters: [],
        inapp_parameters: [],
      },
    });
  });

  const required = ['name', 'type', 'source', 'app_id', 'includes_push', 'includes_inapp', 'start_date', 'params'];
  it.for(required)('without %s is refused', (field) => {
    for (const type of TYPES) {
      const rest = Object.fromEntries(Object.entries({ ...DYNAMIC, type }).filter(([name]) => name !== field)) as Body;
      expect([type, ...Object.keys(errorsOf(rest))]).toEqual([type, field]);
    }
  });

  it('is refused by the field, with what would be right', () => {
    const cases: [Body, Partial<Body>, string, RegExp][] = [
      [PUSH, { name: '  ' }, 'name', /blank/],
      [PUSH, { name: 'n'.repeat(257) }, 'name', /at most 256/],
      [PUSH, { type: 'contextual' }, 'type', /classic, transactional, dynamic/],
      [PUSH, { source: 'api' }, 'source', /must be API/],
      [PUSH, { includes_push: 'yes' }, 'includes_push', /true or false/],
      [PUSH, { includes_push: false }, 'includes_push', /or includes_inapp/],
      [PUSH, { start_date: 'tomorrow' }, 'start_date', /or now/],
      [PUSH, { start_date: 1.5 }, 'start_date', /seconds since the epoch/],
      [PUSH, { start_date: NOW.getTime() }, 'start_date', /seconds/],
      [PUSH, { end_date: 'now' }, 'end_date', /whole seconds/],
      [PUSH, { adapt_tz: 2 }, 'adapt_tz', /true or false/],
      [PUSH, { params: { push_message: null } }, 'params.push_message', /includes_push is true/],
      [PUSH, { params: { push_message: 'm'.repeat(4_097) } }, 'params.push_message', /at most 4096/],
      [PUSH, { params: { template_variables: ['name'] } }, 'params.template_variables', /not supported.*templateVars/],
      [PUSH, { params: { push_message: 'Hello *@name@*' } }, 'params', /\*@name@\*: a classic campaign/],
      [PUSH, { params: { expire_after: 0 } }, 'params.expire_after', /from 1 to 2419200/],
      [PUSH, { params: { expire_after: 2_419_201 } }, 'params.expire_after', /from 1 to 2419200/],
      [PUSH, { params: { push_includes_sound: 'loud' } }, 'params.push_includes_sound', /true or false/],
      [PUSH, { params: { push_parameters: [A, A] } }, 'params.push_parameters.1.key', /twice/],
      [
        PUSH,
        { params: { push_parameters: [{ key: '', value: '1' }] } },
        'params.push_parameters.0.key',
        /not be empty/,
      ],
      [PUSH, { params: { push_parameters: [{ key: 'a', value: 1 }] } }, 'params.push_parameters.0.value', /string/],
      [PUSH, { params: { push_parameters: Array(21).fill(A) } }, 'params.push_parameters', /at most 20/],
      [PUSH, { params: { deep_linking_url: 'orders/1' } }, 'params.deep_linking_url', /scheme/],
      ...[
        'javascript:alert(1)',
        ' JavaScript:alert(1)',
        'java\tscript:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        'javascript:*@x|1@*',
      ].map((url): [Body, Partial<Body>, string, RegExp] => [
        PUSH,
        { params: { deep_linking_url: url } },
        'params.deep_linking_url',
        /script/,
      ]),
      ...['from', 'message_type', 'google.id', 'gcm', 'googlesays'].map(
        (key): [Body, Partial<Body>, string, RegExp] => [
          PUSH,
          { params: { push_parameters: [{ key, value: '1' }] } },
          'params.push_parameters.0.key',
          /reserved by FCM/,
        ],
      ),
      [PUSH, { params: { push_message: ' \n ' } }, 'params.push_message', /blank/],
      [PUSH, { params: { push_title: ' ' } }, 'params.push_title', /blank/],
      [PUSH, { params: { push_subtitle: '\t' } }, 'params.push_subtitle', /blank/],
      [INAPP, { params: { message_title: ' ' } }, 'params.message_title', /blank/],
      [INAPP, { params: { message_content: '\n' } }, 'params.message_content', /blank/],
      [INAPP, { params: { message_btn: '\u00a0' } }, 'params.message_btn', /blank/],
      [PAGE, { params: { inapp_content_title: ' ' } }, 'params.inapp_content_title', /blank/],
      [PUSH, { params: { pushAttachment: 'file:///etc/passwd' } }, 'params.pushAttachment', /http or https/],
      [INAPP, { params: { inapp: undefined } }, 'params.inapp', /native, or url/],
      [INAPP, { params: { inapp: 'html' } }, 'params.inapp', /native, or url/],
      [INAPP, { params: { message_title: '' } }, 'params.message_title', /includes_inapp is true/],
      [INAPP, { params: { message_content: undefined } }, 'params.message_content', /is required/],
      [INAPP, { params: { message_btn: undefined } }, 'params.message_btn', /is required/],
      [INAPP, { end_date: at('2026-11-24T12:00:00Z') }, 'end_date', /lie ahead/],
      [INAPP, { start_date: at('2026-10-25T12:00:00Z') }, 'end_date', /30 days after start_date/],
      [INAPP, { start_date: TOMORROW, end_date: TOMORROW }, 'end_date', /later than start_date/],
      [PAGE, { params: { inapp_content_url: undefined } }, 'params.inapp_content_url', /params.inapp is url/],
      [PAGE, { params: { inapp_content_url: 'javascript:alert(1)' } }, 'params.inapp_content_url', /script/],
      [PAGE, { params: { inapp_content_url: 'file:///etc/passwd' } }, 'params.inapp_content_url', /http or https/],
      [PAGE, { params: { inapp_parameters: [{ key: 'a' }] } }, 'params.inapp_parameters.0.value', /required/],
      [PUSH, { filters: { block: [] } }, 'filters.block', /did you mean blocks/],
      [PUSH, { filters: [] }, 'filters', /object/],
      [PUSH, { filters: { blocks: null } }, 'filters.blocks', /array/],
      [PUSH, { filters: { blocks: [{ filters: [] }] } }, 'filters.blocks.0.filters', /not be empty/],
      [
        PUSH,
        { filters: { blocks: [{ filters: [{ filter_on: 'segments' }] }] } },
        'filters.blocks.0.filters.0.segment_identifiers',
        /required|array/,
      ],
      [
        PUSH,
        { filters: { blocks: Array(11).fill({ filters: Array(5).fill(IN_SEGMENT) }) } },
        'filters',
        /at most 50 filters/,
      ],
      [PUSH, { type: 'transactional', filters: { blocks: [{ filters: [IN_SEGMENT] }] } }, 'filters', /each message/],
      [PUSH, { type: 'transactional', variants: [A_50, B_50] }, 'variants', /each message/],
      [PUSH, { variants: [] }, 'variants', /at least 2/],
      [PUSH, { variants: [A_50] }, 'variants', /at least 2/],
      [
        PUSH,
        { variants: Array.from({ length: 11 }, (_, index) => ({ name: `${index}`, share: 10 })) },
        'variants',
        /at most 10/,
      ],
      [PUSH, { variants: [A_50, { ...B_50, share: 49 }] }, 'variants', /add up to 100: these add up to 99/],
      [PUSH, { variants: [A_50, A_50] }, 'variants.1.name', /twice/],
      [PUSH, { variants: [A_50, { share: 50 }] }, 'variants.1.name', /required/],
      ...[0, 100, 1.5, null].map((share): [Body, Partial<Body>, string, RegExp] => [
        PUSH,
        { variants: [A_50, { ...B_50, share }] },
        'variants.1.share',
        /from 1 to 99/,
      ]),
      [DYNAMIC, { variants: [A_50, { ...B_50, share: 40 }] }, 'variants', /add up to 90/],
      ...(
        [
          [PUSH, { push_message: 'm'.repeat(4_097) }, 'push_message', /at most 4096/],
          [PUSH, { deep_linking_url: 'orders/1' }, 'deep_linking_url', /scheme/],
          [PUSH, { push_parameters: [A, A] }, 'push_parameters.1.key', /twice/],
          [PUSH, { expire_after: 0 }, 'expire_after', /from 1 to 2419200/],
          [PUSH, { template_variables: ['name'] }, 'template_variables', /not supported/],
          [INAPP, { inapp: 'url' }, 'inapp_content_url', /params.inapp is url/],
          [PAGE, { inapp: 'native', message_title: 'x', message_btn: 'OK' }, 'message_content', /is required/],
        ] as const
      ).map(([body, params, field, says]): [Body, Partial<Body>, string, RegExp] => [
        body,
        { variants: [A_50, { ...B_50, params }] },
        `variants.1.params.${field}`,
        says,
      ]),
      // What is wrong with the campaign's message is not said again of those that have it from there.
      [PUSH, { variants: [A_50, B_50], params: { pushAttachment: 'a.png' } }, 'params.pushAttachment', /http or https/],
      [DYNAMIC, { end_date: undefined }, 'end_date', /required for a dynamic/],
      [DYNAMIC, { end_date: at('2026-11-24T11:59:59Z') }, 'end_date', /lie ahead/],
      [DYNAMIC, { recurrence: undefined }, 'recurrence', /required for a dynamic/],
      [DYNAMIC, { notif_limit: undefined }, 'notif_limit', /required for a dynamic/],
      [DYNAMIC, { notif_limit: {} }, 'notif_limit', /maximum, interval, or both/],
      [DYNAMIC, { notif_limit: { maximum: 0 } }, 'notif_limit.maximum', /from 1/],
      [DYNAMIC, { recurrence: {} }, 'recurrence.day_of_week', /required/],
      [
        DYNAMIC,
        { recurrence: { day_of_week: [1], start_time: { min: 5 } } },
        'recurrence.start_time.hour',
        /from 0 to 23/,
      ],
      [DYNAMIC, { recurrence: { day_of_week: [] } }, 'recurrence.day_of_week', /not be empty/],
      [DYNAMIC, { recurrence: { day_of_week: [7] } }, 'recurrence.day_of_week.0', /from 0 to 6/],
      [DYNAMIC, { recurrence: { day_of_week: [1, 1] } }, 'recurrence.day_of_week', /twice/],
      [DYNAMIC, { recurrence: { day_of_week: [1], timezone: 'Paris' } }, 'recurrence.timezone', /Europe\/Paris/],
      [
        DYNAMIC,
        { recurrence: { day_of_week: [1], start_time: { hour: 24 } } },
        'recurrence.start_time.hour',
        /from 0 to 23/,
      ],
      [DYNAMIC, { recurrence: { day_of_week: [1], end_time: { hour: 9 } } }, 'recurrence.start_time', /with end_time/],
      [
        DYNAMIC,
        { recurrence: { day_of_week: [1], start_time: { hour: 9 }, end_time: { hour: 9 } } },
        'recurrence.end_time',
        /later/,
      ],
    ];
    for (const [body, change, field, says] of cases) {
      expect({ of: field, ...errorsOf(withThese(body, change)) }).toEqual({
        of: field,
        [field]: expect.stringMatching(says) as string,
      });
    }
  });

  it('is taken at the edges', () => {
    const cases: [Body, Partial<Body>][] = [
      [PUSH, { start_date: '1764072000', includes_push: 'true' }],
      [PUSH, { start_date: 0 }],
      [PUSH, { start_date: TOMORROW, end_date: 1 }], // no effect on pushes alone
      [
        { ...PUSH, type: 'transactional' },
        { end_date: 1, filters: { blocks: [] }, recurrence: { day_of_week: [1] } },
      ],
      ...[null, {}, { blocks: [] }, { operator: 'or' }, JSON.stringify({ blocks: [{ filters: [IN_SEGMENT] }] })].map(
        (filters): [Body, Partial<Body>] => [DYNAMIC, { filters }],
      ),
      [
        PUSH,
        {
          variants: [
            { ...A_50, share: 99 },
            { ...B_50, share: '1' },
          ],
        },
      ],
      [DYNAMIC, { variants: JSON.stringify([A_50, B_50]) }],
      [PUSH, { variants: null }],
      [PUSH, { variants: Array.from({ length: 10 }, (_, index) => ({ name: `${index}`, share: 10 })) }],
      [PAGE, { variants: [A_50, { ...B_50, params: { ...NATIVE, push_message: 'x' } }] }],
      [PUSH, { params: { push_message: 'm'.repeat(4_096), expire_after: 1 } }],
      [PUSH, { params: { expire_after: 2_419_200 } }],
      [PUSH, { params: { push_parameters: [{ key: 'a', value: '' }], push_includes_sound: false } }],
      ...[
        'shop://orders',
        'https://shop.example.com/*@id@*?q=*@q|a@*',
        '*@link@*',
        'https://*@host@*:*@port@*/',
        'tel:112',
        'shop:*@x@*',
      ].map((url): [Body, Partial<Body>] => [PUSH, { type: 'transactional', params: { deep_linking_url: url } }]),
      [PUSH, { params: { push_message: 'Hello *@name|there@*' } }],
      [
        PAGE,
        {
          type: 'transactional',
          params: { inapp_content_url: '*@page@*', pushAttachment: 'http://cdn.example.com/*@a@*.png' },
        },
      ],
      [INAPP, { start_date: at('2026-10-25T12:00:01Z') }],
      [INAPP, { start_date: at('2026-11-01T00:00:00Z'), end_date: at('2026-11-24T12:00:01Z') }],
      [
        DYNAMIC,
        { recurrence: { day_of_week: [0, 1, 2, 3, 4, 5, 6], start_time: { hour: 9 }, end_time: { hour: 9, min: 1 } } },
      ],
      [DYNAMIC, { notif_limit: { interval: 0 } }],
      [DYNAMIC, { notif_limit: { maximum: 1 } }],
    ];
    for (const [body, change] of cases) expect([change, errorsOf(withThese(body, change))]).toEqual([change, {}]);
  });

  it('has filters in the grammar of segments, also as the reference and as a record write them', () => {
    const read = { operator: 'and', blocks: [{ operator: 'and', filters: [IN_SEGMENT] }] };
    for (const filter of [IN_SEGMENT, { value: 'segments', options: [{ segment_identifiers: ['seg_1'] }] }]) {
      expect(readBody({ ...PUSH, filters: { blocks: [{ filters: [filter] }] } }).filters).toEqual(read);
    }
  });

  it("has variants with no more than what differs: what is left out, null or empty is the campaign's", () => {
    const base = { push_message: 'Half price', push_title: 'Sale', push_parameters: [A], expire_after: 60 };
    const variants = [
      A_50,
      {
        ...B_50,
        params: { push_message: 'Now', push_title: null, expire_after: '', push_parameters: null, color: 'red' },
      },
    ];
    const { params, variants: [first, second] = [] } = readBody({ ...PUSH, params: base, variants });
    expect([first, second]).toStrictEqual([
      { ...A_50, params: {} },
      { ...B_50, params: { push_message: 'Now' } },
    ]);
    expect(variantParams(params, first!)).toEqual(params);
    expect(variantParams(params, second!)).toEqual({ ...params, push_message: 'Now' });
    const [, silent] = readBody({
      ...PUSH,
      params: base,
      variants: [A_50, { ...B_50, params: { push_parameters: [] } }],
    }).variants!;
    expect(variantParams(params, silent!)).toEqual({ ...params, push_parameters: [] });
  });

  it('ends 30 days after its start, as soon as the start is known', () => {
    const dates = (change: Partial<Body>) => datesOf(readBody(withThese(PUSH, change)));
    expect(dates({})).toEqual({ startDate: null, endDate: null });
    expect(dates({ end_date: TOMORROW })).toEqual({ startDate: null, endDate: new Date('2026-11-25T12:00:00Z') });
    expect(dates({ start_date: TOMORROW })).toEqual({
      startDate: new Date('2026-11-25T12:00:00Z'),
      endDate: new Date('2026-12-25T12:00:00Z'),
    });
    expect(dates({ start_date: 0, end_date: 1 })).toEqual({ startDate: new Date(0), endDate: new Date(1_000) });
  });
});
