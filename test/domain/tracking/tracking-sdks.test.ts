import { expect, test } from 'vitest';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { readBatch, readCall } from '../../../domain/tracking/read-call.ts';
import type { Call, CallContext } from '../../../domain/tracking/call.ts';
import { BY, RECEIVED_AT } from './any-call.ts';

/** As these libraries send them: calls made five seconds before they were sent, by clocks that run an hour slow. */
const SENT = '2026-03-01T11:00:00.000Z';
const MADE = '2026-03-01T10:59:55.000Z';

type Sample = { sdk: string; path: string; body: string; calls: object[]; context: Partial<CallContext> };

const SAMPLES: Sample[] = [
  {
    sdk: '@segment/analytics-node',
    path: '/v1/batch',
    body: `{"batch":[
      {"userId":"019mr8mf4r","traits":{"name":"Ada Byron","email":"ada@example.com","friends":42},"type":"identify",
        "timestamp":"${MADE}",
       "context":{"library":{"name":"@segment/analytics-node","version":"2.2.1"}},"integrations":{},
         "messageId":"node-next-1772-a"},
      {"userId":"019mr8mf4r","event":"Item Purchased","properties":{"revenue":39.95,"lines":[1,2]},"type":"track",
        "timestamp":"${MADE}",
       "context":{"library":{"name":"@segment/analytics-node","version":"2.2.1"}},"integrations":{},
         "messageId":"node-next-1772-b"},
      {"groupId":"56","userId":"019mr8mf4r","traits":{"name":"Initech"},"type":"group","timestamp":"${MADE}",
       "context":{"library":{"name":"@segment/analytics-node","version":"2.2.1"}},"integrations":{},
         "messageId":"node-next-1772-c"},
      {"userId":"emmy","previousId":"019mr8mf4r","type":"alias","timestamp":"${MADE}",
       "context":{"library":{"name":"@segment/analytics-node","version":"2.2.1"}},"integrations":{},
         "messageId":"node-next-1772-d"}
    ],"sentAt":"${SENT}"}`,
    calls: [
      {
        type: 'identify',
        messageId: 'node-next-1772-a',
        userId: '019mr8mf4r',
        deviceId: null,
        event: null,
        traits: [
          { sor: 'global', key: 'email', value: 'ada@example.com' },
          { sor: 'app', key: 'friends', value: 42 },
          { sor: 'global', key: 'first_name', value: 'Ada' },
          { sor: 'global', key: 'last_name', value: 'Byron' },
        ],
      },
      {
        type: 'track',
        event: { logType: 2, name: 'Item Purchased', detail: { revenue: 39.95, lines: [1, 2] } },
        traits: [],
      },
      {
        type: 'group',
        traits: [
          { sor: 'app', key: 'group_id', value: '56' },
          { sor: 'app', key: 'group_name', value: 'Initech' },
        ],
      },
      { type: 'alias', userId: 'emmy', previousId: '019mr8mf4r' },
    ],
    context: { platform: null, sdkVersion: '2.2.1', idiom: null, deviceType: null },
  },
  {
    sdk: '@segment/analytics-next, one at a time',
    path: '/v1/p',
    body: `{"timestamp":"${MADE}","integrations":{},"type":"page","userId":null,
      "anonymousId":"2d4c9f40-7f8f-4f35-8f0f-6a3f0a3c7d1e","name":"Home",
      "properties":{"path":"/","referrer":"","search":"?utm_source=x","title":"Welcome",
        "url":"https://x.example/?utm_source=x","name":"Home"},
      "context":{"page":{"path":"/","title":"Welcome"},"userAgent":"Mozilla/5.0 (Linux; Android 10; K)",
        "userAgentData":{"brands":[],"mobile":true,"platform":"Android"},
        "locale":"fr-BE","library":{"name":"analytics.js","version":"npm:next-1.81.0"},"timezone":"Europe/Brussels",
          "campaign":{"source":"x"}},
      "messageId":"ajs-next-1772-a","writeKey":"key","sentAt":"${SENT}","_metadata":{"bundled":["Segment.io"],"unbundled":[],
        "bundledIds":[]}}`,
    calls: [
      {
        type: 'page',
        userId: null,
        deviceId: '2d4c9f40-7f8f-4f35-8f0f-6a3f0a3c7d1e',
        traits: [],
        event: { logType: 2, name: 'Viewed Home Page', detail: { path: '/', title: 'Welcome', name: 'Home' } },
      },
    ],
    context: {
      platform: 'Web App',
      idiom: 'phone',
      lang: 'fr',
      country: 'BE',
      utcOffset: 60,
      sdkVersion: 'npm:next-1.81.0',
    },
  },
  {
    sdk: '@segment/analytics-next, batching',
    path: '/v1/b',
    body: `{"writeKey":"key","batch":[{"timestamp":"${MADE}","integrations":{},"type":"track","event":"Clicked",
      "properties":{},"userId":"ada","anonymousId":"anon",
      "context":{"locale":"en","library":{"name":"analytics.js","version":"next-1.81.0"}},"messageId":"ajs-next-1772-b",
        "writeKey":"key"}],"sentAt":"${SENT}"}`,
    calls: [{ type: 'track', userId: 'ada', deviceId: 'anon', event: { name: 'Clicked', detail: null } }],
    context: { platform: 'Web App', idiom: null, lang: 'en', country: null, utcOffset: null },
  },
  {
    sdk: 'analytics-swift',
    path: '/v1/b',
    body: `{"batch":[{"event":"Application Opened","properties":{"from_background":false,"version":"1.0","build":"1","url":""},
      "type":"track","timestamp":"${MADE}",
      "anonymousId":"B5372DB0-C21E-11E4-8DFC-AA07A5B093DB","messageId":"7B8A","integrations":{},"_metadata":{"bundledIds":[]},
      "context":{"library":{"name":"analytics-swift","version":"1.9.1"},"app":{"name":"Shop","version":"1.0","build":"1",
        "namespace":"com.example.shop"},
        "device":{"manufacturer":"Apple","type":"ios","model":"iPad13,1","name":"iPad",
          "id":"6F1C7A24-2C53-4B7B-8F39-1B9AFD5CC0C6","token":"ff15bc0c"},
        "os":{"name":"iPadOS","version":"17.5"},"screen":{"width":820,"height":1180},"network":{"bluetooth":false,
          "cellular":false,"wifi":true},
        "userAgent":"Mozilla/5.0 (iPad)","locale":"en-CA","timezone":"America/Toronto","instanceId":"x"}},
      {"event":"Application Backgrounded","type":"track","timestamp":"${MADE}",
        "anonymousId":"B5372DB0-C21E-11E4-8DFC-AA07A5B093DB","messageId":"7B8B",
      "context":{"device":{"id":"","type":"ios"},"library":{"name":"analytics-swift","version":"1.9.1"}}}],"sentAt":"${SENT}",
        "writeKey":"key"}`,
    calls: [
      {
        deviceId: '6F1C7A24-2C53-4B7B-8F39-1B9AFD5CC0C6',
        userId: null,
        event: {
          logType: 3,
          name: 'Application Opened',
          transition: 'foreground',
          detail: { from_background: false, url: '' },
        },
      },
      {
        deviceId: 'B5372DB0-C21E-11E4-8DFC-AA07A5B093DB',
        event: { logType: 3, transition: 'background', detail: null },
      },
    ],
    context: {
      platform: 'iOS App',
      appNamespace: 'com.example.shop',
      appVersion: '1.0',
      sdkVersion: '1.9.1',
      osVersion: '17.5',
      deviceType: 'ios',
      deviceModel: 'iPad13,1',
      idiom: 'pad',
      pushToken: 'ff15bc0c',
      lang: 'en',
      country: 'CA',
      utcOffset: -300,
      carrier: null,
    },
  },
  {
    sdk: 'analytics-ios',
    path: '/v1/batch',
    body: `{"batch":[{"type":"screen","name":"Cart","category":null,"properties":{"items":3},"timestamp":"${MADE}",
      "anonymousId":"anon","userId":"ada","messageId":"M1","channel":"mobile",
      "context":{"app":{"build":"7","name":"Shop","namespace":"com.example.shop","version":"2.1"},
        "device":{"adTrackingEnabled":true,"advertisingId":"7A3CBEA0","id":"D1",
        "manufacturer":"Apple","model":"iPhone14,2","name":"iPhone","type":"ios"},"ip":"10.0.0.2",
          "library":{"name":"analytics-ios","version":"4.1.8"},"locale":"de-DE",
        "network":{"bluetooth":false,"carrier":"Telekom.de","cellular":true,"wifi":false},"os":{"name":"iOS","version":"15.4"},
          "screen":{"height":844,"width":390},
        "timezone":"Europe/Berlin","traits":{"plan":"gold"}},"integrations":{}}],"sentAt":"${SENT}"}`,
    calls: [
      {
        type: 'screen',
        userId: 'ada',
        deviceId: 'D1',
        event: { logType: 2, name: 'Viewed Cart Screen', detail: { items: 3 } },
        traits: [{ sor: 'app', key: 'plan', value: 'gold' }],
      },
    ],
    context: { platform: 'iOS App', idiom: 'phone', carrier: 'Telekom.de', lang: 'de', country: 'DE', utcOffset: 60 },
  },
  {
    sdk: 'analytics-android',
    path: '/v1/import',
    body: `{"batch":[{"type":"identify","messageId":"M2","timestamp":"2026-03-01T10:59:55.000999999Z","channel":"mobile",
      "anonymousId":"anon","userId":"ada",
      "context":{"app":{"name":"Shop","version":"3.2","namespace":"com.example.shop","build":"32"},
        "traits":{"anonymousId":"anon","userId":"ada","seats":2.0},
        "device":{"id":"4f1d","manufacturer":"Samsung","model":"SM-T870","name":"gts7l","adTrackingEnabled":false},
          "library":{"name":"analytics-android","version":"4.11.3"},
        "locale":"nl-","network":{"wifi":true,"bluetooth":false,"cellular":false,"carrier":"unknown"},"os":{"name":"Android",
          "version":"13"},
        "screen":{"density":1.75,"height":2560,"width":1600},"userAgent":"undefined","timezone":"GMT+02:00"},
      "integrations":{},"traits":{"anonymousId":"anon","userId":"ada","seats":2.0}}],"sentAt":"${SENT}"}`,
    calls: [
      {
        type: 'identify',
        userId: 'ada',
        deviceId: '4f1d',
        event: null,
        traits: [{ sor: 'app', key: 'seats', value: 2 }],
      },
    ],
    context: {
      platform: 'Android App',
      idiom: 'tablet',
      deviceType: null,
      deviceModel: 'SM-T870',
      carrier: null,
      lang: 'nl',
      country: null,
      utcOffset: 120,
      optOut: null,
    },
  },
  {
    sdk: 'analytics-kotlin',
    path: '/v1/b',
    body: `{"batch":[{"properties":{},"name":"MainActivity","category":"","type":"screen","messageId":"M3",
      "anonymousId":"anon","integrations":{},
      "context":{"app":{"name":"Shop","version":"3.2","namespace":"com.example.shop","build":"32"},"device":{"id":"8e2f",
        "manufacturer":"Google","model":"Pixel 8","name":"shiba","type":"android"},
        "os":{"name":"Android","version":"14"},"screen":{"density":2.625,"height":2400,"width":1080},"network":{"wifi":true,
          "bluetooth":false,"cellular":false},
        "locale":"pt-BR","userAgent":"Dalvik/2.1.0","timezone":"America/Sao_Paulo","library":{"name":"analytics-kotlin",
          "version":"1.19.0"},"instanceId":"x"},
      "userId":"","_metadata":{"bundled":[],"unbundled":[],"bundledIds":[]},"timestamp":"${MADE}"}],"sentAt":"${SENT}",
        "writeKey":"key"}`,
    calls: [
      { type: 'screen', userId: null, deviceId: '8e2f', event: { name: 'Viewed MainActivity Screen', detail: null } },
    ],
    context: {
      platform: 'Android App',
      idiom: 'phone',
      lang: 'pt',
      country: 'BR',
      utcOffset: -180,
      deviceType: 'android',
    },
  },
  {
    sdk: 'analytics-php',
    path: '/v1/batch',
    body: `{"batch":[{"userId":17,"event":"Clicked","properties":[],"context":{"library":{"name":"analytics-php",
      "version":"3.8.1"}},"timestamp":"2026-03-01T10:59:55+00:00",
      "type":"track","messageId":"M4"}],"sentAt":"2026-03-01T11:00:00+00:00"}`,
    calls: [{ type: 'track', userId: '17', deviceId: null, event: { name: 'Clicked', detail: null } }],
    context: { platform: null },
  },
];

/** A body of a path for single calls is a call; the others are batches. */
function readBody(body: string): Call[] {
  const json = parseExactJson(body);
  const read = readBatch(json);
  const { calls, sentAt, context } = 'batch' in read ? read.batch : { calls: [json], sentAt: null, context: {} };
  return calls.map((given, index) => {
    const outcome = readCall(given, index, { ...BY, sentAt, batchContext: context });
    if ('refused' in outcome) throw new Error(outcome.refused.message);
    return outcome.call;
  });
}

test.each(SAMPLES)('what $sdk sends to $path is read', ({ body, calls, context }) => {
  const read = readBody(body);
  expect(read).toMatchObject(calls);
  expect(read.map(({ index }) => index)).toEqual(calls.map((_, index) => index));
  expect(read[0]!.context).toMatchObject(context);
  for (const call of read) expect(call.happenedAt).toBe(RECEIVED_AT - 5_000);
});
