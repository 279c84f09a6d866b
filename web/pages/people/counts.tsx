/** How much there is of a person, by part: a number, or the right that it needs. */
import type { ReactNode } from 'react';
import type { Person } from '../../../api/client.ts';
import { countText, When } from '../../parts/values.tsx';

/** Counts of rows end here. */
const MAX_COUNTED = 100_000;

type Part = 'events' | 'sessions' | 'attributes' | 'messages' | 'segments' | 'requests';

export function Counts({ data }: { data: Person }) {
  const { events, sessions, messages, attributes, segments, requests } = data;
  return (
    <section className="panel" aria-label="Counts">
      <div className="body">
        <dl className="terms counts">
          <Counted data={data} part="events" name="Events" count={events?.count}>
            {events?.last_at && (
              <>
                last <When at={events.last_at} />
              </>
            )}
          </Counted>
          <Counted data={data} part="sessions" name="Sessions" count={sessions?.count}>
            {sessions?.last_at && (
              <>
                last <When at={sessions.last_at} />
              </>
            )}
          </Counted>
          <Counted
            data={data}
            part="attributes"
            name="Values of attributes"
            count={attributes?.reduce((sum, { values }) => sum + values, 0)}
          >
            {attributes &&
              `in ${countText(attributes.length)} ${attributes.length === 1 ? 'System' : 'Systems'} of Records`}
          </Counted>
          <Counted data={data} part="messages" name="Messages" count={messages?.count}>
            {messages && `${countText(messages.confirmed)} confirmed by a device`}
          </Counted>
          <Counted data={data} part="segments" name="Segments" count={segments?.length} />
          <Counted data={data} part="requests" name="Privacy requests" count={requests?.length} />
        </dl>
      </div>
    </section>
  );
}

function Counted({
  data,
  part,
  name,
  count,
  children,
}: {
  data: Person;
  part: Part;
  name: string;
  count: number | undefined;
  children?: ReactNode;
}) {
  return (
    <div>
      <dt>{name}</dt>
      {count === undefined ? (
        <dd className="small">{data.left_out.find((each) => each.part === part)?.reason}</dd>
      ) : (
        <dd>
          <b className="big n">
            {countText(count)}
            {count >= MAX_COUNTED && ' or more'}
          </b>
          <span className="small quiet"> {children}</span>
        </dd>
      )}
    </div>
  );
}
