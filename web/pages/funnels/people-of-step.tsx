/** The people of a funnel's step: what they did instead, and the first hundred of them. */
import { Audited } from '../../parts/audited.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { LessWork } from './less-work.tsx';
import type { Asked } from './use-counts.ts';
import { type AskedStep, type CountedFunnel, peopleText, secondsText } from './words.ts';

type About = { funnel: CountedFunnel; asked: Asked; of: AskedStep };

/** Both are answered fast: they show which people and events there are, and their numbers say how far they are off. */
const MODE = 'fast';
const SHOWN = 12;

export function FollowUps({ funnel, asked, of: { step } }: About) {
  const query = { ...asked, mode: MODE, position: String(step - 1), dropped: true } as const;
  const found = useRead('exploreFunnel', { query, body: { funnel } });
  return (
    <Panel title={`After step ${step}, those who stopped`} footer="People may have several.">
      <Shown result={found} offers={<LessWork refusal={found.error} asked={asked} isExact={false} />}>
        {(rows) => (
          <DataTable
            caption="Events of those who stopped"
            columns={[
              {
                title: 'Event',
                cell: ({ display_name: name, log_type: type }) => (
                  <>
                    {name} {type === 1 && <Chip tone="bad">error</Chip>}
                  </>
                ),
              },
              { title: 'People', isNumber: true, cell: peopleText },
              {
                title: 'After',
                isNumber: true,
                cell: ({ average_duration: seconds }) => (seconds === null ? '–' : secondsText(seconds)),
              },
            ]}
            rows={rows.slice(0, SHOWN)}
            keyOf={({ application_id: app, log_type: type, log_name: name }) => `${app} ${type} ${name}`}
            empty={<Empty says="They had no event after this step, in these days." />}
          />
        )}
      </Shown>
    </Panel>
  );
}

export function PeopleOfStep({ funnel, asked, of }: About) {
  const { step, outcome } = of;
  const title = outcome === 'dropped' ? `Stopped after step ${step}` : `Completed step ${step + 1}`;
  return (
    <Panel title={`${title}: people`}>
      <Audited operation="listFunnelPeople" what="these people">
        {() => <Listed funnel={funnel} asked={asked} of={of} />}
      </Audited>
    </Panel>
  );
}

function Listed({ funnel, asked, of: { step, outcome } }: About) {
  const query = { ...asked, mode: MODE, step: String(step), outcome } as const;
  const found = useRead('listFunnelPeople', { query, body: { funnel } });
  return (
    <Shown result={found}>
      {(answer) => (
        <>
          <p className="body small second">
            The latest {answer.people.length} of {peopleText(answer)}
            {answer.exact ? '' : ', among the sample of people that the fast answer counts'}.
          </p>
          <DataTable
            caption="People"
            columns={[
              {
                title: 'Person',
                cell: ({ user_id: user, device_id: device }) => (
                  <PersonLink kind={user === null ? 'device_id' : 'user_id'} id={user ?? device!} />
                ),
              },
              { title: 'Last', cell: ({ last_completed_at: at }) => <When at={at} /> },
            ]}
            rows={answer.people}
            keyOf={({ user_id: user, device_id: device }) => (user === null ? `d${device!}` : `u${user}`)}
            empty={<Empty says="There is no such person in these days." />}
          />
        </>
      )}
    </Shown>
  );
}
