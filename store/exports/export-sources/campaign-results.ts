import { TEST_COPIES } from '../../campaigns/campaign-tests.ts';
import { literal } from './export-scope.ts';
import { ofApps } from './of-apps.ts';
import { selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

/** Settled attempts by the time of settlement, which later receipts do not change; no tests. */
export const campaignResults: TableSource = {
  table: 'attempts',
  isPartitioned: false,
  condition: (
    scope,
  ) => `${ofApps(scope, { received: 'r.settled_at', happened: 'r.settled_at' })} AND r.campaign_id NOT IN (
    ${TEST_COPIES.replace('$1', literal(scope.entityId))})`,
  joins: () => 'LEFT JOIN campaigns c ON c.entity_id = r.entity_id AND c.id = r.campaign_id',
  countedJoins: noJoins,
  columns: ({ format }) =>
    selectList(
      'campaign_results_per_user',
      {
        campaign_id: 'c.identifier',
        variant: 'r.variant',
        user_id: 'r.user_id',
        device_id: 'r.device_id',
        date: 'r.settled_at',
        code: 'r.code',
      },
      format,
    ),
};
