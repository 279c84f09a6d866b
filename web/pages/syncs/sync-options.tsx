/** When and how a sync reads: mode, removals, schedule, and what happens when something is wrong. */
import { Panel } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { useRead } from '../../session/calls.ts';
import { zones } from '../../session/settings.ts';
import { ChoiceField, TextField, useSourceFields, useStream, useSyncForm } from './sync-fields.tsx';

export function ReadingPanel() {
  const { draft, change, errorAt } = useSyncForm();
  return (
    <Panel title="What a run reads">
      <div className="body">
        <Toggles
          label="What a run reads"
          choices={[
            { value: 'full', title: 'All records' },
            { value: 'incremental', title: 'New and changed records' },
          ]}
          value={draft.mode}
          onChange={(mode) => change({ mode })}
        />
        {draft.mode === 'incremental' && <CursorField />}
        <label>
          <input
            type="checkbox"
            checked={draft.removes}
            onChange={({ target }) => change({ removes: target.checked })}
          />{' '}
          Remove records that the source {draft.mode === 'full' ? 'no longer has' : 'reports as deleted'}
        </label>
        {errorAt('removes') !== undefined && <b className="wrong small">{errorAt('removes')}</b>}
        {draft.removes && (
          <TextField
            name="removalLimit"
            at="removal_limit"
            label="Removal limit, in percent"
            type="number"
            min={0}
            max={100}
            hint="If more of the known records vanish at once, a run removes nothing and asks you first."
          />
        )}
      </div>
    </Panel>
  );
}

function CursorField() {
  const { draft } = useSyncForm();
  const incremental = useStream(draft.connection, 'source', draft.stream)?.incremental;
  const known = useSourceFields();
  if (incremental === 'own')
    return <p className="second small">The source keeps its own state: it needs no cursor field.</p>;
  const shared = {
    name: 'cursorField',
    at: 'cursor_field',
    label: 'Cursor field',
    hint: 'It grows with each change, such as updated_at: a run reads what lies after the last value.',
  } as const;
  if (incremental === undefined) return <TextField {...shared} suggestions={known.map(({ name }) => name)} />;
  if (incremental.fields.length === 0)
    return <p className="wrong small">This stream has no field to find new records by: read all records.</p>;
  return <ChoiceField {...shared} choices={incremental.fields.map((name) => ({ value: name, title: name }))} />;
}

export function SchedulePanel() {
  const { draft, change, errorAt } = useSyncForm();
  const wrong = errorAt('schedule');
  return (
    <Panel title="When it runs">
      <div className="body">
        <Toggles
          label="When it runs"
          choices={[
            { value: 'every', title: 'Every n minutes' },
            { value: 'cron', title: 'At set times' },
            { value: 'request', title: 'On request only' },
          ]}
          value={draft.when}
          onChange={(when) => change({ when })}
        />
        {draft.when === 'every' && (
          <TextField
            name="every"
            at="schedule.every_minutes"
            label="Minutes between runs"
            type="number"
            min={1}
            max={10_080}
            hint="60 is every hour, 1440 every day. At most a week, 10080."
          />
        )}
        {draft.when === 'cron' && (
          <div className="two">
            <TextField
              name="cron"
              at="schedule.cron"
              label="Cron"
              hint="Minute, hour, day, month, weekday: 0 6 * * 1-5 is 06:00 from Monday to Friday."
            />
            <ChoiceField
              name="zone"
              at="schedule.zone"
              label="Zone"
              choices={zones().map((zone) => ({ value: zone, title: zone }))}
            />
          </div>
        )}
        {wrong !== undefined && <b className="wrong small">{wrong}</b>}
        {draft.when !== 'request' && (
          <details>
            <summary>Spread the starts</summary>
            <TextField
              name="jitter"
              at="schedule.jitter_seconds"
              label="Delay of up to seconds"
              type="number"
              min={0}
              max={3600}
              hint="A random delay, so that many syncs don't start at once."
            />
          </details>
        )}
      </div>
    </Panel>
  );
}

const RULES = {
  ignore: 'go on with the fields that it knows',
  follow: 'take new fields by itself',
  stop: 'stop until someone accepts them',
};

export function MorePanel() {
  const { draft, change, errorAt } = useSyncForm();
  const connectors = useRead('listConnectors', {});
  const connections = useRead('listConnections', { query: { per_page: '1000' } });
  const able = new Set((connectors.data ?? []).filter(({ alerts }) => alerts).map(({ name }) => name));
  const others = (connections.data?.items ?? []).filter(({ connector }) => able.has(connector));
  const wrong = errorAt('alerts.connections.*');
  return (
    <Panel title="If something is wrong">
      <details className="body">
        <summary>
          Changed fields, alerts, pause:{' '}
          {draft.pauseAfter === '' ? 'it never pauses' : `pauses after ${draft.pauseAfter} failed runs`}
        </summary>
        <ChoiceField
          name="schemaRule"
          at="on_schema_change"
          label="If the fields of the source change"
          choices={Object.entries(RULES).map(([value, title]) => ({ value, title }))}
        />
        <TextField
          name="emails"
          at="alerts.emails.*"
          label="Mails go to"
          hint="Addresses with commas between them. Empty: no mails."
        />
        {others.length > 0 && (
          <fieldset className="rights">
            <legend>Alerts also go to</legend>
            {others.map(({ identifier, name }) => (
              <label key={identifier}>
                <input
                  type="checkbox"
                  checked={draft.alertConnections.includes(identifier)}
                  onChange={({ target }) =>
                    change({
                      alertConnections: target.checked
                        ? [...draft.alertConnections, identifier]
                        : draft.alertConnections.filter((each) => each !== identifier),
                    })
                  }
                />{' '}
                {name}
              </label>
            ))}
          </fieldset>
        )}
        {wrong !== undefined && <b className="wrong small">{wrong}</b>}
        <div className="two">
          <TextField
            name="failedRecords"
            at="alerts.failed_records"
            label="Alert from this many failed records"
            type="number"
            min={1}
            hint="In one run. Empty: never."
          />
          <TextField
            name="pauseAfter"
            at="alerts.pause_after"
            label="Pause after this many failed runs"
            type="number"
            min={1}
            max={1000}
            hint="In a row. Empty: never."
          />
        </div>
      </details>
    </Panel>
  );
}
