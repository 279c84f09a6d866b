import type { Item } from '../life.ts';
import {
  about,
  type Answer,
  type Call,
  call,
  type Draw,
  type LifeOperation,
  type LifeOperations,
} from '../life-operation.ts';
import { days } from './analytics.ts';

/** File exports of all kinds, as sheets and CSV, and the fetching of what they built. */

const FORMATS = ['csv', 'xls', 'xlsx'];
type Query = NonNullable<Call['query']>;

function noteFile({ result }: Answer, { entity }: Draw): void {
  if (typeof result !== 'object') return;
  const url = new URL((result as { callback: string }).callback);
  entity.add('file', { id: `${url.pathname.split('/').at(-1)!} ${url.searchParams.get('token')!}` });
}

/** Both forms of an export, about an object of this kind or about none. */
function fileExport(
  id: string,
  kind: string | null,
  query: (draw: Draw, item: Item) => Query = () => ({}),
): LifeOperations {
  const form = (isFormatted: boolean): LifeOperation => ({
    weight: isFormatted ? 1.5 : 0.7,
    call(draw) {
      const item = kind === null ? { id: '' } : draw.item(kind);
      const asked = { ...query(draw, item), ...(draw.chance(0.9) ? { skip_email: true } : {}) };
      return {
        ...(kind === null ? {} : { item }),
        ...(isFormatted ? { params: { format: draw.of(FORMATS) } } : {}),
        query: asked,
      };
    },
    done: noteFile,
  });
  return { [id]: form(false), [`${id}As`]: form(true) };
}

const ofPerson = (draw: Draw) => draw.of([{}, {}, { user_ids: draw.person().userId }]);

export const fileOperations: LifeOperations = {
  ...fileExport('exportEvents', 'app', ofPerson),
  ...fileExport('exportSessions', 'app'),
  ...fileExport('exportDevices', 'app', (draw) => draw.of([{}, { device_ids: draw.person().deviceId }])),
  ...fileExport('exportSegmentDevices', 'segment'),
  ...fileExport('exportLocations', 'app'),
  ...fileExport('exportCustomerProfiles', null, (draw) => ({
    sor_identifiers: draw.entity.sor.identifier,
    ...(draw.chance(0.3) ? { customer_ids: draw.person().userId } : {}),
  })),
  ...fileExport('exportPerformance', 'app', (_draw, { id }) => ({ apps: id, ...days() })),
  ...fileExport('exportDownloadMetrics', 'app', days),
  ...fileExport('exportEventCounts', 'app', (_draw, { id }) => ({ app: id, ...days() })),
  ...fileExport('exportEventDetails', 'event definition', (draw, { id }) => ({
    app: draw.entity.app.identifier,
    event_id: id,
    ...days(),
  })),
  ...fileExport('exportCrashOccurrences', 'crash', (_draw, { id }) => ({
    id,
    date: new Date().toISOString().slice(0, 10),
  })),
  ...fileExport('exportCampaigns', null),
  downloadFile: {
    ...about('file', (_draw, { id }) => {
      const [file = '', token = ''] = id.split(' ');
      return { params: { file_identifier: file }, query: { token } };
    }),
    weight: 6,
  },
  reportCampaignLogs: call(({ entity }) => ({
    query: {
      apps: entity.app.identifier,
      from: new Date(Date.now() - 3_600_000).toISOString(),
      till: new Date(Date.now() - 1_000).toISOString(),
    },
  })),
};
