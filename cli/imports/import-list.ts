/** The commands `millrace imports` and `millrace feeds`: what came in, newest first. */
import { type Command, Option } from 'commander';
import type { FeedRequest, ImportSummary } from '../../api/client.ts';
import { findSorId } from '../attributes/find-sor.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { sayValue, table } from '../core/table.ts';

type ImportOptions = { sor?: string; state?: ImportSummary['state']; open?: true };
type FeedOptions = { sor?: string; withErrors?: true };

const STATES = ['accepted', 'running', 'finished', 'failed', 'canceled'] as const;
const SOR = ['--sor <sor>', 'only those of one System of Records: its name or identifier'] as const;

const sorOf = ({ client }: CommandContext, sor: string | undefined) =>
  sor === undefined ? undefined : findSorId(client, sor);

export const addImportsCommand = (program: Command, run: Run) =>
  addGroup<ImportSummary>(program, run, {
    name: 'imports',
    description: 'the imports of the last week',
    columns: {
      import: (one) => one.import_id,
      received: (one) => one.received_at?.slice(0, 16) ?? '',
      state: (one) => (one.dry_run ? `${one.state}, dry run` : one.is_redrive ? `${one.state}, re-drive` : one.state),
      into: (one) => one.sor?.name ?? '',
      rows: (one) => String(one.rows.read),
      ok: (one) => String(one.rows.ok),
      ignored: (one) => String(one.rows.ignored),
      failed: (one) => String(one.rows.failed),
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, newest first',
        options: [
          SOR,
          new Option('--state <state>', 'only those in this state').choices(STATES),
          ['--open', 'only those with rows that no re-drive has settled'],
        ],
        does: async (context, { sor, state, open }: ImportOptions) =>
          Array.fromAsync(
            context.client.each.listImportSummaries({
              query: { sor_id: await sorOf(context, sor), state, open, per_page: 1_000 },
            }),
          ),
      },
      {
        name: 'days',
        description: 'count the rows of the last week by day',
        options: [SOR],
        async does(context, { sor }: ImportOptions) {
          const { days } = await context.client.countImportRows({ query: { sor_id: await sorOf(context, sor) } });
          const shown = days.map(({ day, imports, rows, errors_by_type: errors }) => ({
            day,
            imports,
            ...rows,
            errors,
          }));
          const cells = shown.map((day) => Object.values(day).map(sayValue));
          return table(Object.keys(shown[0] ?? {}), cells, context.terminal.width);
        },
      },
    ],
  });

export const addFeedsCommand = (program: Command, run: Run) =>
  addGroup<FeedRequest>(program, run, {
    name: 'feeds',
    description: 'requests of feeds, with the outcome of their values',
    columns: {
      request: (one) => one.request_id,
      received: (one) => one.received_at.slice(0, 16),
      state: (one) => one.state,
      into: (one) => one.sor?.name ?? '',
      values: (one) => String(one.values.in),
      ok: (one) => String(one.values.ok),
      ignored: (one) => String(one.values.ignored),
      failed: (one) => String(one.values.failed),
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, newest first',
        options: [SOR, ['--with-errors', 'only those with ignored or failed values']],
        does: async (context, { sor, withErrors }: FeedOptions) =>
          Array.fromAsync(
            context.client.each.listFeedRequests({
              query: { sor_id: await sorOf(context, sor), with_errors: withErrors, per_page: 1_000 },
            }),
          ),
      },
      {
        name: 'view',
        description: 'show one; `millrace errors` lists its errors',
        args: [['<request>', 'its identifier']],
        does: async ({ client }, _, id: string) => ({
          record: await client.viewFeedRequest({ params: { request_id: id } }),
        }),
      },
    ],
  });
