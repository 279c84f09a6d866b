/** The launch of a draft: reviewed with its people, moments and rules, confirmed by the number of people, sent once. */
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Skeleton } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Count, countText } from '../../parts/values.tsx';
import { momentText } from '../../parts/zone-time.ts';
import { useAction } from '../../session/calls.ts';
import { useSettings } from '../../session/settings.ts';
import { AudienceBalance } from './audience-panel.tsx';
import { type Planned, PlanNotes } from './planned.tsx';

const CHANGED = ['viewCampaign', 'listCampaigns', 'listAttention'] as const;

/** Stays at the end of the window: how many people get it and when, and the way to the launch. */
export function LaunchBar({
  campaign,
  planned,
  isReady,
  children,
}: {
  campaign: CampaignDetails;
  planned: Planned;
  /** The draft is whole and saved. */
  isReady: boolean;
  children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const review = (): void => {
    if (campaign.type !== 'transactional' && (planned.isOld || planned.plan === null)) planned.ask();
    setOpen(true);
  };
  return (
    <div className="bar" role="region" aria-label="Launch">
      <LaunchSummary campaign={campaign} planned={planned} isReady={isReady} />
      <div className="end">
        {children}
        <ActionButton operation="launchCampaign" of={campaign} kind="main" isBusy={!isReady} onPress={review}>
          Review and launch
        </ActionButton>
      </div>
      {isOpen && <Review campaign={campaign} planned={planned} onClose={() => setOpen(false)} />}
    </div>
  );
}

function LaunchSummary({
  campaign,
  planned: { audience, plan, isOld },
  isReady,
}: Pick<Parameters<typeof LaunchBar>[0], 'campaign' | 'planned' | 'isReady'>) {
  if (!isReady)
    return <span className="quiet small">It can be launched once nothing is missing and all is saved.</span>;
  if (campaign.type === 'transactional')
    return <span className="quiet small">Once launched, it takes messages of POST /api/transac.</span>;
  if (audience === null || plan === null || isOld)
    return <span className="quiet small">The next step counts the people, and asks for their number.</span>;
  return (
    <>
      <span>
        <b className="n">{countText(audience.recipients)}</b> people
        <Moments plan={plan} />
      </span>
      <span className="quiet small">
        {countText(audience.held_back)} get nothing. The next step asks for the number of people.
      </span>
    </>
  );
}

function Moments({ plan: { first_at: first, last_at: last } }: { plan: NonNullable<Planned['plan']> }) {
  const { zone } = useSettings();
  if (first === null) return null;
  return (
    <>
      , first on <b>{momentText(first, zone)}</b>
      {last !== null && last !== first && (
        <>
          , last on <b>{momentText(last, zone)}</b>
        </>
      )}
    </>
  );
}

function Review({ campaign, planned, onClose }: { campaign: CampaignDetails; planned: Planned; onClose: () => void }) {
  const navigate = useNavigate();
  const launch = useAction('launchCampaign', {
    changes: CHANGED,
    onDone: () => void navigate({ to: `/campaigns/${campaign.identifier}` }),
  });
  const { audience, plan, isOld, isBusy, refusal, ask } = planned;
  const isTransactional = campaign.type === 'transactional';
  const isCounted = audience !== null && plan !== null && !isOld && !isBusy && refusal === null;
  const send = (expected?: number): void =>
    launch.mutate({
      params: { campaign_identifier: campaign.identifier },
      body: { revision: campaign.revision, ...(expected === undefined ? {} : { expected_people: expected }) },
    });
  return (
    <Dialog title={`Launch ${campaign.name}`} onClose={onClose}>
      {isTransactional && (
        <p className="second">From its start on it takes messages of POST /api/transac, until you cancel it.</p>
      )}
      {!isTransactional && refusal && <Refused refusal={refusal} retry={ask} />}
      {!isTransactional && !isCounted && refusal === null && <Skeleton />}
      {!isTransactional && isCounted && (
        <>
          <AudienceBalance planned={planned} />
          <LaunchFacts campaign={campaign} planned={planned} />
        </>
      )}
      {launch.error && (
        <>
          <Refused refusal={launch.error} />
          {launch.error.http === 409 && (
            <button
              type="button"
              className="btn"
              onClick={() => {
                launch.reset();
                ask();
              }}
            >
              Count again
            </button>
          )}
        </>
      )}
      <LaunchEnd
        people={isTransactional ? null : isCounted ? audience.recipients : undefined}
        isSent={launch.isPending || launch.isSuccess}
        onLaunch={send}
        onClose={onClose}
      />
    </Dialog>
  );
}

/** Asks for the number of people, and sends the launch once. `people`: null asks for none; undefined: not counted. */
function LaunchEnd({
  people,
  isSent,
  onLaunch,
  onClose,
}: {
  people: number | null | undefined;
  isSent: boolean;
  onLaunch: (expected?: number) => void;
  onClose: () => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const isRight = people === null || (people !== undefined && typed.replaceAll(/[\s,.]/g, '') === String(people));
  return (
    <form
      className="tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (isRight && !isSent) onLaunch(people ?? undefined);
      }}
    >
      {typeof people === 'number' && (
        <div className="field">
          <label htmlFor={id}>
            How many people get it? Type <b className="n">{countText(people)}</b> to confirm
          </label>
          <input
            className="input"
            id={id}
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <span className="hint">If more people are in the audience by the launch, nothing is launched.</span>
        </div>
      )}
      <div className="filters">
        <button type="button" className="btn" onClick={onClose}>
          Leave it
        </button>
        <button type="submit" className="btn main" disabled={!isRight || isSent}>
          {isSent ? 'Launching' : 'Launch it'}
        </button>
      </div>
    </form>
  );
}

function LaunchFacts({ campaign, planned: { plan, audience } }: { campaign: CampaignDetails; planned: Planned }) {
  const { zone } = useSettings();
  const { first_at: first, last_at: last, timezone } = plan!;
  const clocks = plan!.sends.flatMap(({ clocks: each }) => each ?? []);
  const locals = clocks.flatMap(({ at, leaves_from: from, leaves_until: until }) => [from ?? at, until ?? from ?? at]);
  const ends = [locals.toSorted()[0], locals.toSorted().at(-1)];
  const both = (instant: string | null, local: string | undefined): string =>
    instant === null
      ? 'none is planned'
      : `${momentText(instant, zone)} in ${zone}${local === undefined ? '' : `; on their clocks ${momentText(`${local}Z`, 'UTC')}`}`;
  return (
    <>
      <dl className="terms">
        <div>
          <dt>First message</dt>
          <dd>{both(first, ends[0])}</dd>
        </div>
        <div>
          <dt>Last message</dt>
          <dd>{both(last, ends[1])}</dd>
        </div>
        <div>
          <dt>Control group</dt>
          <dd>
            {audience!.control_group_percent === 0
              ? 'none'
              : `${audience!.control_group_percent} % of people get nothing, to compare with`}
          </dd>
        </div>
        <div>
          <dt>Clock</dt>
          <dd>{campaign.adapt_tz ? `each device’s own; without a zone ${timezone}` : 'one moment for all'}</dd>
        </div>
      </dl>
      <PlanNotes plan={plan!} />
      {campaign.type === 'dynamic' && (
        <p className="note">
          <span>
            <Count value={audience!.recipients} /> people would get it now. People who enter the audience later get it,
            too, until the end.
          </span>
        </p>
      )}
    </>
  );
}

/** Deletes a draft. */
export function Discard({ campaign: { identifier, name, type } }: { campaign: CampaignDetails }) {
  const navigate = useNavigate();
  const remove = useAction('deleteCampaign', {
    changes: ['listCampaigns'],
    onDone: () => void navigate({ to: '/campaigns', ignoreBlocker: true }),
  });
  return (
    <ConfirmButton
      operation="deleteCampaign"
      of={{ type }}
      kind=""
      title={`Delete the draft ${name}?`}
      says="It can’t be brought back. Nothing was sent by it."
      yes="Delete the draft"
      sent={remove}
      onYes={(options) => remove.mutate({ params: { campaign_identifier: identifier } }, options)}
    >
      Discard
    </ConfirmButton>
  );
}
