/** One campaign: its editor while it is a draft, else what became of it. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { CampaignRequests } from '../sends/campaign-requests.tsx';
import { useApp } from './app.ts';
import { CampaignState, channelsText, isUnderWay, statusOf, TYPES } from './campaign-state.tsx';
import { NextSend } from './next-send.tsx';
import { Duplicate } from './duplicate.tsx';
import { Editor } from './editor.tsx';
import { PlanButton, PlanShown, usePlanned } from './planned.tsx';
import { PreviewOfCampaign } from './preview.tsx';
import { ControlGroup, Results } from './results.tsx';
import { WhyOne } from './why-one.tsx';

export function Campaign() {
  const { id = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  // Stays open with changes that are on this page alone, also once someone else has launched the campaign.
  const [isUnsaved, setUnsaved] = useState(false);
  const read = useRead(
    'viewCampaign',
    { params: { campaign_identifier: id } },
    { pollWhile: (campaign) => isUnderWay(campaign.status) || isEnding(campaign), isFresh: true },
  );
  const head = <Head title="Campaign" within={{ title: 'Campaigns', to: '/campaigns', name: id }} />;
  // The editor begins with what the server has now: what was read before may have been changed by others since.
  const result = read.isFetchedAfterMount || read.error ? read : { ...read, data: undefined };
  return (
    <Shown result={result} head={head}>
      {(campaign) =>
        statusOf(campaign.status) === 'draft' || isUnsaved ? (
          <Editor
            key={campaign.identifier}
            opened={campaign}
            onUnsaved={setUnsaved}
            onCreated={(made) => void navigate({ to: `/campaigns/${made}` })}
          />
        ) : (
          <Launched campaign={campaign} />
        )
      }
    </Shown>
  );
}

/** Returns whether messages of a canceled or failed campaign are still under way. */
const isEnding = ({ status, ended_at: ended }: CampaignDetails): boolean =>
  ended === null && ['canceled', 'failed'].includes(statusOf(status));

function Launched({ campaign }: { campaign: CampaignDetails }) {
  const { identifier: id, name, status, type, failure, internal_error: internal } = campaign;
  const app = useApp(campaign.app_id);
  return (
    <>
      <Head
        title={name}
        within={{ title: 'Campaigns', to: '/campaigns', name: id }}
        state={<CampaignState shown={status} />}
        actions={
          <>
            <Duplicate id={id} type={type} variants={campaign.variants} />
            {isUnderWay(status) && <Cancel campaign={campaign} />}
          </>
        }
        facts={<LaunchedFacts campaign={campaign} />}
      />
      {internal !== null && (
        <p className="note bad" role="alert">
          <Icon name="crash" />
          <span>
            An error of Millrace holds it up since <When at={internal.since} />. Its log has it under{' '}
            <code>{internal.id}</code>.
          </span>
        </p>
      )}
      {failure !== null && (
        <p className="note bad" role="alert">
          <Icon name="crash" />
          <span>It failed, and sends nothing more: {failure}. Duplicate it, mend the copy, and launch that.</span>
        </p>
      )}
      {statusOf(status) === 'wait_sync' && (
        <p className="note info" role="status">
          It finds its audience before the first message leaves.
        </p>
      )}
      <div className="cols">
        <div className="stack">
          <Results campaign={campaign} />
          {type !== 'transactional' && isUnderWay(status) && <ComingSends campaign={campaign} />}
          <ControlGroup campaign={campaign} />
          {type === 'transactional' && <CampaignRequests campaign={id} />}
          <WhyOne campaign={id} />
        </div>
        <aside className="stack">
          <PreviewOfCampaign campaign={campaign} appName={app?.name} />
          <AsCommand
            operation="viewCampaignResults"
            params={{ identifier: id }}
            cli={[`millrace campaigns results ${id}`, `millrace campaigns show ${id}`]}
            manual="campaigns"
          />
        </aside>
      </div>
    </>
  );
}

function LaunchedFacts({ campaign }: { campaign: CampaignDetails }) {
  const { type, launched_at: launched, launched_by: by, start_date: start, end_date: end, ended_at: ended } = campaign;
  const status = statusOf(campaign.status);
  return (
    <>
      <span>
        {TYPES[type].title}, {channelsText(campaign)}
      </span>
      {launched !== null && (
        <span>
          launched <When at={launched * 1_000} />
          {by !== null && ` by ${by.uid}`}
        </span>
      )}
      {status === 'scheduled' && start !== null && type === 'transactional' && (
        <span>
          starts <When at={start * 1_000} />
        </span>
      )}
      {campaign.next_send_at !== null && (
        <span>
          next send: <NextSend of={campaign} />
        </span>
      )}
      {isEnding(campaign) && <span>its last messages are under way</span>}
      {ended !== null && (
        <span>
          ended <When at={ended * 1_000} />
        </span>
      )}
      {end !== null && isUnderWay(campaign.status) && (campaign.includes_inapp || type === 'dynamic') && (
        <span>
          ends <When at={end * 1_000} />
        </span>
      )}
    </>
  );
}

function Cancel({ campaign: { identifier, name, type } }: { campaign: CampaignDetails }) {
  const cancel = useAction('cancelCampaign', { changes: ['viewCampaign', 'listCampaigns', 'viewCampaignResults'] });
  return (
    <ConfirmButton
      operation="cancelCampaign"
      of={{ type }}
      title={`Cancel ${name}?`}
      says="It sends nothing from then on, and cannot be launched again. What has left stays with the providers and devices."
      yes="Cancel the campaign"
      typed={name}
      sent={cancel}
      onYes={(options) => cancel.mutate({ params: { campaign_identifier: identifier } }, options)}
    >
      Cancel
    </ConfirmButton>
  );
}

function ComingSends({ campaign: { identifier, type, revision } }: { campaign: CampaignDetails }) {
  const planned = usePlanned(identifier, type, String(revision));
  return (
    <Panel title="Coming sends" end={<PlanButton planned={planned} isOff={false} />}>
      <div className="body">
        <PlanShown planned={planned} />
      </div>
    </Panel>
  );
}
