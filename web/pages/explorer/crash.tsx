/** One crash: its days, versions and devices, and a sample with its stack behind a press. */
import { Link } from '@tanstack/react-router';
import { stringify, type ViewedCrash } from '../../../api/client.ts';
import { AsCommand, quoted } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { Lines } from '../../parts/lines.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, countText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { ExplorerHead, Shorter, useApp, useDays } from './scope.tsx';

export function CrashPage() {
  const { id, crash } = useApp();
  const { query, from, until } = useDays();
  const params = { crash_identifier: crash };
  const viewed = useRead('viewCrash', { params, query });
  return (
    <>
      <ExplorerHead title="Crash" />
      <Shown result={viewed}>{(found) => <Viewed found={found} />}</Shown>
      <Shorter refusal={viewed.error} />
      <p className="small">
        <Link to={`/apps/${id}/crashes`}>All crashes of the app</Link>
      </p>
      <AsCommand
        operation="viewCrash"
        params={params}
        cli={[`millrace usage crash ${quoted(crash)} --from ${from} --to ${until}`]}
        manual="reading"
      />
    </>
  );
}

const SHARES = {
  app_versions: 'Versions of the app',
  os_versions: 'Versions of the system',
  device_models: 'Models of devices',
} as const;

function Viewed({ found }: { found: ViewedCrash }) {
  const { looked_at: looked, devices, sample_event_id: sample } = found;
  const errors = found.days.reduce((sum, day) => sum + day.errors, 0);
  return (
    <>
      <Panel title={found.title || found.identifier}>
        <div className="body">
          <p className="second">
            {countText(found.occurrences)} {found.occurrences === 1 ? 'error' : 'errors'} since{' '}
            <When at={found.first_seen_at} />, the last <When at={found.last_seen_at} />. {countText(errors)} in these
            days
            {looked > 0 && `, on ${countText(devices)} ${devices === 1 ? 'device' : 'devices'}`}
            {looked < errors && ` of the newest ${countText(looked)} errors`}.
          </p>
          <Lines what="errors" days={found.days.map(({ date, errors: value }) => ({ day: date, value }))} />
        </div>
      </Panel>
      {looked > 0 &&
        Object.entries(SHARES).map(([name, title]) => (
          <Panel
            key={name}
            title={title}
            footer={looked < errors ? `Of the newest ${countText(looked)} errors of these days.` : undefined}
          >
            <Shares title={title} rows={found[name as keyof typeof SHARES]} />
          </Panel>
        ))}
      <Panel title="A sample">
        {sample === null ? (
          <Empty says="These days have no such error. Choose other days to see one." />
        ) : (
          <Audited operation="viewEvent" what="the newest error of these days">
            {() => <Sample app={found.application_id} id={sample} />}
          </Audited>
        )}
      </Panel>
    </>
  );
}

function Shares({ title, rows }: { title: string; rows: ViewedCrash['app_versions'] }) {
  return (
    <DataTable
      caption={title}
      columns={[
        { title: 'Value', cell: ({ value }) => value ?? <span className="quiet">unknown</span> },
        { title: 'Errors', isNumber: true, cell: ({ errors }) => <Count value={errors} /> },
        { title: 'Devices', isNumber: true, cell: ({ devices }) => <Count value={devices} /> },
      ]}
      rows={rows}
      keyOf={({ value }) => value ?? ''}
      empty={null}
    />
  );
}

function Sample({ app, id }: { app: string; id: string }) {
  const read = useRead('viewEvent', { params: { app_identifier: app, event_identifier: id } });
  return (
    <Shown result={read}>
      {({ date_utc: at = null, user_id: user, device_id: device, detail = null }) => (
        <div className="body">
          <p className="second">
            <When at={at} /> {typeof user === 'string' && <PersonLink kind="user_id" id={user} />}{' '}
            {typeof device === 'string' && <PersonLink kind="device_id" id={device} />}
          </p>
          <Detail detail={detail} />
        </div>
      )}
    </Shown>
  );
}

/** Shows each member of the detail; texts such as a stack keep their lines. */
function Detail({ detail }: { detail: unknown }) {
  if (detail === null) return <p className="second">The app sent no detail with it.</p>;
  const members = typeof detail === 'object' ? Object.entries(detail) : [['detail', detail] as const];
  return (
    <>
      {members.map(([name, value]) => (
        <div key={name}>
          <b className="small">{name}</b>
          <pre className="json mono" tabIndex={0} role="group" aria-label={name}>
            {typeof value === 'string' ? value : stringify(value)}
          </pre>
        </div>
      ))}
    </>
  );
}
