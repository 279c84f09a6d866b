/** Who gets a campaign: the conditions of its audience, and the balance of the people that they find. */
import { Chip } from '../../parts/head.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Balance } from '../../parts/balance.tsx';
import { Count, instantText, Percent } from '../../parts/values.tsx';
import { useSettings } from '../../session/settings.ts';
import { EVERYBODY, FilterBuilder, FilterCount } from '../analytics/filter-builder.tsx';
import { useEdit } from './edit.tsx';
import type { Planned } from './planned.tsx';

export function AudiencePanel({ planned }: { planned: Planned }) {
  const { draft, change, errorAt } = useEdit();
  const filters = draft.filters ?? EVERYBODY;
  const isEverybody = filters.blocks.length === 0;
  return (
    <Panel title="Who" end={isEverybody && <Chip tone="neutral">everybody in the app</Chip>}>
      <div className="body" id="part-who" tabIndex={-1}>
        {draft.app_id === '' ? (
          <p className="second">Choose the app first: conditions name its events and values.</p>
        ) : (
          <>
            <FilterBuilder
              value={filters}
              appId={draft.app_id}
              errorAt={(path) => errorAt(`filters.${path}`)}
              onChange={(next) => change({ filters: next.blocks.length === 0 ? null : next })}
            />
            <FilterCount appId={draft.app_id} filters={filters} />
          </>
        )}
      </div>
      {planned.audience && <AudienceBalance planned={planned} />}
    </Panel>
  );
}

/** The people of an audience: who gets a push, who only sees the message in the app, who gets nothing and why. */
export function AudienceBalance({ planned: { audience, isOld } }: { planned: Pick<Planned, 'audience' | 'isOld'> }) {
  const { zone } = useSettings();
  const { people, push, in_app_only: inapp, held_back: held, reasons, devices, people_total: all } = audience!;
  return (
    <>
      <Balance
        isPart
        total={people}
        what="people"
        parts={[
          { label: 'get the push', count: push, tone: 'accent' },
          { label: 'only in the app', count: inapp, tone: 'info' },
          { label: 'get nothing', count: held, tone: 'neutral' },
        ]}
        note={
          <>
            <Percent part={people} whole={all} of="the people of the app" />, on <Count value={devices} /> devices.{' '}
            {isOld ? 'Counted before your last change' : 'Counted'} {instantText(new Date(audience!.counted_at), zone)}.
            The audience is found anew when the campaign starts.
          </>
        }
      />
      {reasons.length > 0 && (
        <table className="cards">
          <caption className="sr">Why people get nothing</caption>
          <thead>
            <tr>
              <th scope="col">Why nothing</th>
              <th scope="col" className="num">
                People
              </th>
            </tr>
          </thead>
          <tbody>
            {reasons.map(({ code, reason, details, people: count }) => (
              <tr key={`${code} ${details}`}>
                <td data-label="Why nothing">
                  <span>
                    {details ?? reason} <code className="quiet">{code}</code>
                  </span>
                </td>
                <td data-label="People" className="num">
                  <Count value={count} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
