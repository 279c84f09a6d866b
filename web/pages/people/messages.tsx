/** The messages of a person of all campaigns, each with its decision, and why a campaign's messages come or not. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { MessageOfPerson, Person } from '../../../api/client.ts';
import { SelectField } from '../../parts/field.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { DeliveryWhy } from '../sends/delivery-why.tsx';
import { confirmedSteps, Decision, OnDevice } from '../sends/decision-cells.tsx';
import { LeftOut, type Look } from './tabs.tsx';

const PAGE = 100;
/** A choice of more campaigns would be too long. */
const CHOICES = 200;

export function Messages({ look, data }: { look: Look; data: Person }) {
  if (data.messages === null) return <LeftOut data={data} part="messages" />;
  return (
    <>
      <MessageList look={look} />
      <WhyOfCampaign look={look} />
    </>
  );
}

function MessageList({ look }: { look: Look }) {
  const read = useList('listPersonMessages', { body: { ...look, per_page: PAGE } });
  return (
    <DataTable
      caption="Messages, newest first"
      columns={[
        { title: 'When', cell: ({ at }) => <When at={at} /> },
        { title: 'Campaign', cell: (message) => <CampaignText message={message} /> },
        { title: 'Decision', cell: (message) => <Decision of={message} /> },
        { title: 'On the device', cell: (message) => <OnDevice message={message} /> },
      ]}
      rows={read.data?.pages.flatMap(({ messages }) => messages) ?? []}
      keyOf={({ message_id: id }) => id}
      empty={<Empty says="No message: no campaign and no request had this person in its audience." />}
      more={read}
    />
  );
}

function CampaignText({ message }: { message: MessageOfPerson }) {
  const mayView = useSession().may('viewSend');
  const { request_id: request } = message;
  return (
    <>
      {message.campaign_name}
      <br />
      <span className="small quiet">{messageFacts(message)}</span>
      {request !== null && (
        <>
          <br />
          <span className="small wraps">
            {mayView ? <Link to={`/sends/${request}`}>{request}</Link> : <code>{request}</code>}
          </span>
        </>
      )}
    </>
  );
}

export function messageFacts({ channel, variant, is_test: isTest, app_id: app }: MessageOfPerson): string {
  return [app, channel, variant === null ? null : `variant ${variant}`, isTest ? 'a test' : null]
    .filter((each) => each !== null)
    .join(', ');
}

export const confirmedText = (message: MessageOfPerson): string =>
  confirmedSteps(message)
    .map(([word]) => word)
    .join(', ');

/** Asks for a campaign, also one that the person got nothing of, and answers for it under the look of the page. */
function WhyOfCampaign({ look }: { look: Look }) {
  const [asked, setAsked] = useState('');
  const missing = useSession().missingFor('explainDelivery');
  const isWanted = missing.length === 0;
  const campaigns = useRead('listCampaigns', { query: { limit: CHOICES, order: 'updated_at' } }, { isWanted });
  return (
    <section aria-label="Why this message or not">
      <h3 className="body">Why this message or not</h3>
      {isWanted ? (
        <Shown result={campaigns}>
          {({ result: all, total_count: total }) =>
            all.length === 0 ? (
              <Empty says="There is no campaign." />
            ) : (
              <div className="body">
                <SelectField
                  label="Campaign"
                  value={asked}
                  onChange={({ target }) => setAsked(target.value)}
                  {...(total > all.length ? { hint: `The ${CHOICES} that were changed last` } : {})}
                >
                  <option value="">Choose one</option>
                  {all.map(({ identifier, name, status }) => (
                    <option key={identifier} value={identifier}>
                      {name} ({status.toLowerCase()})
                    </option>
                  ))}
                </SelectField>
                {asked !== '' && <DeliveryWhy key={asked} person={look} campaign={asked} />}
              </div>
            )
          }
        </Shown>
      ) : (
        <p className="body second">{sayMissing(missing)}.</p>
      )}
    </section>
  );
}
