/** The crashes of an app, most recently seen first. */
import { Link } from '@tanstack/react-router';
import { AsCommand, quoted } from '../../parts/as-command.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { ExplorerHead, useApp } from './scope.tsx';

export function CrashesPage() {
  const { id } = useApp();
  const params = { app_identifier: id };
  const crashes = useList('listCrashes', { params, query: { per_page: 100 } });
  return (
    <>
      <ExplorerHead title="Crashes" hasDays={false} />
      <Panel title="Most recently seen first" footer="Errors with the same cause are one crash.">
        <DataTable
          caption="Crashes of the app, most recently seen first"
          columns={[
            {
              title: 'Crash',
              cell: ({ identifier, title }) => (
                <Link to={`/apps/${id}/crashes/${identifier}`}>{title || identifier}</Link>
              ),
            },
            { title: 'Errors', isNumber: true, cell: ({ occurrences }) => <Count value={occurrences} /> },
            { title: 'First', cell: ({ first_seen_at: at }) => <When at={at} /> },
            { title: 'Last', cell: ({ last_seen_at: at }) => <When at={at} /> },
          ]}
          rows={crashes.data?.pages.flatMap(({ items }) => items) ?? []}
          keyOf={({ identifier }) => identifier}
          empty={<Empty says="No crash is known. Errors that the SDK of the app sends are listed here." />}
          more={crashes}
        />
      </Panel>
      <AsCommand
        operation="listCrashes"
        params={params}
        cli={[`millrace apps crashes list ${quoted(id)}`]}
        manual="reading"
      />
    </>
  );
}
