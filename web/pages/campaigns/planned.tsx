/** The plan of a campaign with its audience: read on a press, since the audit log keeps which values it compares. */
import { useState } from 'react';
import type { CampaignAudience, CampaignPlan } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Skeleton } from '../../parts/panel.tsx';
import { Plan } from '../../parts/plan.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { countText } from '../../parts/values.tsx';
import { momentText } from '../../parts/zone-time.ts';
import type { Refusal } from '../../session/api.ts';
import { useRead } from '../../session/calls.ts';
import { useSettings } from '../../session/settings.ts';

export type Planned = {
  plan: CampaignPlan | null;
  /** Null: not counted. Of a dynamic campaign, the people that its filters find now. */
  audience: CampaignAudience | null;
  /** The draft has changed since. */
  isOld: boolean;
  isBusy: boolean;
  refusal: Refusal | null;
  ask: () => void;
};

/** `version` names what was planned: a plan of another one is old. */
export function usePlanned(id: string | null, type: string, version: string): Planned {
  const [asked, setAsked] = useState<string | null>(null);
  const isWanted = id !== null && asked !== null && type !== 'transactional';
  const params = { identifier: id ?? '' };
  const plan = useRead('planCampaign', { params, query: {} }, { isWanted });
  const counted = useRead('countCampaignAudience', { params }, { isWanted: isWanted && type === 'dynamic' });
  const isBusy = plan.isFetching || counted.isFetching;
  return {
    plan: isWanted ? (plan.data ?? null) : null,
    audience: isWanted ? (counted.data ?? plan.data?.audience ?? null) : null,
    isOld: asked !== version,
    isBusy,
    refusal: isWanted && !isBusy ? (plan.error ?? counted.error) : null,
    ask() {
      setAsked(version);
      if (plan.isFetched) void plan.refetch();
      if (counted.isFetched) void counted.refetch();
    },
  };
}

export function PlanButton({ planned, isOff }: { planned: Planned; isOff: boolean }) {
  return (
    <>
      <span className="small quiet">
        <Icon name="eye" /> Counting is written into the audit log.
      </span>
      <ActionButton operation="planCampaign" isBusy={isOff || planned.isBusy} onPress={planned.ask}>
        {planned.isBusy ? 'Counting' : planned.plan === null ? 'Count and plan' : 'Count again'}
      </ActionButton>
    </>
  );
}

/** Shows when messages leave, on the person's clock and on theirs, and what moves them. */
export function PlanShown({ planned: { plan, isBusy, refusal, ask, isOld } }: { planned: Planned }) {
  const { zone } = useSettings();
  if (refusal) return <Refused refusal={refusal} retry={ask} />;
  if (plan === null) return isBusy ? <Skeleton /> : <NotPlanned />;
  if (plan.sends.length === 0) return <Empty says="Nothing is planned: the end lies before the first send." />;
  return (
    <>
      {isOld && <p className="note">This is the plan before your last change: count again.</p>}
      <Plan sends={plan.sends} zone={zone} quietHours={plan.quiet_hours} />
      {plan.has_more && <p className="small quiet">More sends follow.</p>}
      <PlanNotes plan={plan} />
    </>
  );
}

function NotPlanned() {
  return (
    <p className="small quiet">
      <b>Count and plan</b> shows who gets it and when, on your clock and on theirs.
    </p>
  );
}

/** Notes on a plan: how quiet hours and the rate of the app change it. */
export function PlanNotes({ plan }: { plan: CampaignPlan }) {
  const { quiet_hours: quiet, send_rate: rate, sends } = plan;
  const waits = (what: 'quiet_hours' | 'send_rate') => sends.filter(({ waits_for: all }) => all.includes(what));
  const moved = waits('quiet_hours');
  const atNight = sends.flatMap(({ clocks }) => clocks ?? []).filter(({ is_quiet_there: isQuiet }) => isQuiet);
  const devices = atNight.reduce((all, each) => all + each.devices, 0);
  return (
    <>
      {quiet && moved.length > 0 && (
        <p className="note warn">
          <Icon name="clock" />
          <span>
            Quiet hours of the app are {quiet.start} to {quiet.end} <b>in {quiet.timezone}</b>: {sumOfDevices(moved)}{' '}
            until {quiet.end} there.
          </span>
        </p>
      )}
      {quiet && devices > 0 && (
        <p className="note warn">
          <Icon name="clock" />
          <span>
            <b className="n">{countText(devices)}</b> {devices === 1 ? 'device gets' : 'devices get'} it at a quiet time
            on {devices === 1 ? 'its' : 'their'} own clock, such as {localNight(atNight[0]!)} in{' '}
            {atNight[0]!.zone.replaceAll('_', ' ')}: quiet hours have one zone, that of the app.
          </span>
        </p>
      )}
      {rate !== null && (
        <p className={waits('send_rate').length > 0 ? 'note' : 'small quiet'}>
          The app sends at most {rate} messages a second
          {waits('send_rate').length > 0 ? ', which makes the last of them leave later.' : '.'}
        </p>
      )}
    </>
  );
}

function sumOfDevices(sends: CampaignPlan['sends']): string {
  const devices = sends.reduce((all, { pushes }) => all + (pushes ?? 0), 0);
  if (devices === 0) return 'pushes wait';
  return devices === 1 ? '1 push waits' : `${countText(devices)} pushes wait`;
}

type Clock = NonNullable<CampaignPlan['sends'][number]['clocks']>[number];

const localNight = ({ at, leaves_from: from }: Clock): string => momentText(`${from ?? at}Z`, 'UTC');
