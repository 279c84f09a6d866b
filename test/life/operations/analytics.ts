import { about, call, type Draw, type LifeOperations, make, read, remove } from '../life-operation.ts';

/** Lists of what SDKs sent, segments and funnels. */

const DAY_MS = 86_400_000;
const day = (daysAgo = 0) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const midnight = (daysAgo = 0) => Math.floor(Date.parse(day(daysAgo)) / 1_000);
export const days = () => ({ sd: midnight(1), ed: midnight() });

const since = (draw: Draw) => ({
  ...(draw.chance(0.3) && { since_date: day(1) }),
  ...(draw.chance(0.3) && { received_since: day(1) }),
});

/** Filters of one block. Some compare with the id of a person, which an erasure takes out. */
export function drawFilters(draw: Draw) {
  const { entity } = draw;
  const period = { last_days: 30 };
  const attribute = (key: string, values: string[]) => ({
    filter_on: 'attributes',
    sor_identifier: entity.sor.identifier,
    attribute_key: key,
    operator: 'is',
    values,
  });
  const filters = [
    attribute('plan', ['gold']),
    attribute('contact', [draw.person().userId]),
    { filter_on: 'devices', field: 'app_version', operator: 'at_least', values: ['2.10'] },
    { filter_on: 'events', app_id: entity.app.identifier, log_type: 2, log_name: 'Bought', count: 1, period },
  ];
  const blocks = [{ operator: draw.of(['and', 'or']), filters: draw.some(filters, 2) }];
  return { operator: 'and', blocks, ...(draw.chance(0.2) && { aliases: true }) };
}

function drawSteps(draw: Draw) {
  const step = (name: string, details: object[]) => ({
    match_name: [{ app_id: draw.entity.app.identifier, log_type: 2, log_name: name }],
    ...(details.length > 0 ? { match_details: details } : {}),
  });
  return [step('Viewed', []), step('Bought', draw.chance(0.5) ? [{ note: draw.person().userId }] : [])];
}

const funnelQuery = (draw: Draw) => ({
  app_id: draw.entity.app.identifier,
  from: day(2),
  till: day(),
  mode: draw.of(['accurate', 'fast']),
});

const onePerson = (draw: Draw) =>
  draw.chance(0.5) ? { user_id: draw.person().userId } : { device_id: draw.person().deviceId };

export const analyticsOperations: LifeOperations = {
  listEvents: read('app', (draw) => ({
    query: draw.of([{}, since(draw), { user_ids: draw.person().userId }, { group: true, fields: 'name' }]),
  })),
  listDeviceEvents: call((draw) => ({
    params: { app_identifier: draw.entity.app.identifier, device_identifier: draw.person().deviceId },
  })),
  listUserEvents: call((draw) => ({
    params: { user_id: draw.person().userId },
    query: draw.chance(0.3) ? { aliases: true } : {},
  })),
  listSessions: read('app', (draw) => ({ query: since(draw) })),
  listLocations: read('app', (draw) => ({ query: since(draw) })),
  listDevices: read('app'),
  viewDevice: call((draw) => ({
    params: { app_identifier: draw.entity.app.identifier, device_identifier: draw.person().deviceId },
  })),
  listSegmentDevices: about('segment'),
  countAppEvents: read('app', (draw) => ({
    query: { ...days(), ...(draw.chance(0.5) ? { only_current: true } : {}) },
  })),
  countAppDays: read('app', (draw) => ({ query: { ...days(), ...(draw.chance(0.5) ? { aliases: true } : {}) } })),
  listEventValues: read('app', (draw) => ({ query: { name: draw.of(['Viewed', 'Bought']) } })),
  viewEvent: call((draw) => ({
    params: { app_identifier: draw.entity.app.identifier, event_identifier: String(1 + draw.int(1_000)) },
  })),
  viewSegment: read('segment'),
  createSegment: make({ kind: 'segment' }, (draw) => ({
    body: {
      name: draw.name('Segment'),
      app: draw.entity.app.identifier,
      labels: [draw.name('Of segments')].slice(draw.int(2)),
      ...(draw.chance(0.3) ? { static: true } : { filters: drawFilters(draw) }),
    },
  })),
  updateSegment: about('segment', (draw) => ({
    body: { description: draw.name('Described'), ...(draw.chance(0.3) ? { filters: drawFilters(draw) } : {}) },
  })),
  deleteSegment: remove('segment'),
  viewPerson: call((draw) => ({ body: onePerson(draw) })),
  viewTimeline: call((draw) => ({ body: { ...onePerson(draw), per_page: 1 + draw.int(20) } })),
  countPersonDays: call((draw) => ({ body: { ...onePerson(draw), days: 1 + draw.int(366) } })),
  listPersonMessages: call((draw) => ({ body: { ...onePerson(draw), per_page: 1 + draw.int(20) } })),
  explainSegment: call((draw) => ({ body: { ...onePerson(draw), segment_id: draw.item('segment').id } })),
  findPeople: call((draw) => ({
    body: {
      text: draw.of([draw.person().userId, draw.person().deviceId]),
      ...(draw.chance(0.5) && { match: ['user_id'] }),
    },
  })),
  previewSegment: call((draw) => ({
    body: {
      app: draw.entity.app.identifier,
      filters: drawFilters(draw),
      fast: draw.chance(0.5),
      left: draw.chance(0.5),
    },
  })),
  listSegmentPeople: about('segment', (draw) => ({ query: { per_page: 1 + draw.int(20) } })),
  listSegmentChanges: about('segment', (draw) => ({ query: draw.chance(0.5) ? { joined: draw.chance(0.5) } : {} })),
  countSegmentDays: about('segment'),
  addSegmentPeople: about('static segment', (draw) => ({
    body: draw.chance(0.5)
      ? { ids: [draw.person().userId] }
      : { ids: [draw.person().deviceId], customer_id_type: 'device_id' },
  })),
  removeSegmentPeople: about('static segment', (draw) => ({ body: { ids: [draw.person().userId] } })),
  viewFunnel: read('funnel'),
  createFunnel: make({ kind: 'funnel' }, (draw) => ({
    body: { name: draw.name('Funnel'), max_duration: 3_600, steps: drawSteps(draw) },
  })),
  viewFunnelStats: about('funnel', (draw) => ({ query: funnelQuery(draw) })),
  updateFunnel: about('funnel', (draw) => ({ body: { labels: [draw.name('Of funnels')] } })),
  archiveFunnel: about('funnel'),
  restoreFunnel: about('funnel'),
  quickFunnelStats: call((draw) => ({
    query: funnelQuery(draw),
    body: { funnel: { max_duration: 3_600, steps: drawSteps(draw) } },
  })),
  exploreFunnel: call((draw) => ({
    query: { ...funnelQuery(draw), position: 0 },
    body: { funnel: { steps: drawSteps(draw) } },
  })),
  listFunnelPeople: call((draw) => ({
    query: { ...funnelQuery(draw), step: 0 },
    body: { funnel: { steps: drawSteps(draw) } },
  })),
};
