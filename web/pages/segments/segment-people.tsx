/** People of a segment: its counts by day, who joined and left, and who is in it. */
import { SignedBars } from '../../parts/bars.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { countText, When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { useState } from 'react';

const SHOWN_DAYS = 31;

export function Days({ id }: { id: string }) {
  const read = useRead('countSegmentDays', { params: { identifier: id }, query: { days: String(SHOWN_DAYS) } });
  return (
    <Panel title="Joined and left by day (UTC)">
      <Shown result={read}>
        {(days) =>
          days.length === 0 ? (
            <Empty says="No day yet: counts begin with the first snapshot." />
          ) : days.every(({ joined, left }) => joined === 0 && left === 0) ? (
            <Empty says="No person has joined or left since it was made. Its people are found again every hour." />
          ) : (
            <div className="body">
              <SignedBars
                of="day"
                up={{ label: 'joined', tone: 'ok' }}
                down={{ label: 'left', tone: 'warn' }}
                bars={days.map(({ day, joined, left, people }) => ({
                  label: day,
                  up: joined,
                  down: left,
                  note: people === null ? 'no snapshot' : `${countText(people)} people`,
                }))}
              />
            </div>
          )
        }
      </Shown>
    </Panel>
  );
}

type Which = 'all' | 'true' | 'false';

export function Changes({ id }: { id: string }) {
  const [which, setWhich] = useState<Which>('all');
  const query = which === 'all' ? {} : { joined: which };
  const read = useList('listSegmentChanges', { params: { identifier: id }, query });
  return (
    <>
      <div className="body">
        <Toggles
          label="Changes"
          value={which}
          onChange={setWhich}
          choices={[
            { value: 'all', title: 'all' },
            { value: 'true', title: 'joined' },
            { value: 'false', title: 'left' },
          ]}
        />
      </div>
      <DataTable
        caption="Who joined and who left, newest first"
        columns={[
          { title: 'When', cell: ({ at }) => <When at={at} /> },
          {
            title: 'What',
            cell: ({ joined }) => <Chip tone={joined ? 'ok' : 'warn'}>{joined ? 'joined' : 'left'}</Chip>,
          },
          { title: 'Person', cell: (person) => <OnePerson {...person} /> },
        ]}
        rows={read.data?.pages.flatMap(({ changes }) => changes) ?? []}
        keyOf={({ at, joined, user_id: user, device_id: device }) => `${at} ${joined} ${user} ${device}`}
        empty={
          <Empty says="No person has joined or left yet: segments are refreshed every hour, and the first count of new filters is no change." />
        }
        more={read}
      />
    </>
  );
}

export function People({ id }: { id: string }) {
  const read = useList('listSegmentPeople', { params: { identifier: id }, query: {} });
  return (
    <DataTable
      caption="People of the segment"
      columns={[{ title: 'Person', cell: (person) => <OnePerson {...person} /> }]}
      rows={read.data?.pages.flatMap(({ people }) => people) ?? []}
      keyOf={({ user_id: user, device_id: device }) => `${user} ${device}`}
      empty={<Empty says="It has no people." />}
      more={read}
    />
  );
}

function OnePerson({ user_id: user, device_id: device }: { user_id: string | null; device_id: string | null }) {
  return user === null ? <PersonLink kind="device_id" id={device!} /> : <PersonLink kind="user_id" id={user} />;
}
