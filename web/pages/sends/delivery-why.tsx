/** Why a person gets the messages of a campaign, or does not: line by line with what was found. */
import type { ExplainedDelivery } from '../../../api/client.ts';
import type { DeliveryCheck, DeliveryResult } from '../../../domain/sends/explain-delivery.ts';
import { Audited } from '../../parts/audited.tsx';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Shown } from '../../parts/panel.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { MetFilters } from '../people/segment-why.tsx';
import { codeTone } from './send-state.tsx';

type Asked = { user_id?: string; device_id?: string; look?: string };

/** Answers under the look of `person`, or asks first: the answer is written into the audit log. */
export function DeliveryWhy({ person, campaign }: { person: Asked; campaign: string }) {
  return (
    <Audited operation="explainDelivery" what="why this person gets it or not" isAsked={person.look !== undefined}>
      {() => <Why person={person} campaign={campaign} />}
    </Audited>
  );
}

function Why({ person, campaign }: { person: Asked; campaign: string }) {
  const read = useRead('explainDelivery', { body: { ...person, campaign_id: campaign } });
  return <Shown result={read}>{(explained) => <Explained explained={explained} />}</Shown>;
}

const REACHES: Record<ExplainedDelivery['reaches'], { says: string; tone: Tone }> = {
  yes: { says: 'a message would reach the person now', tone: 'ok' },
  later: { says: 'a message would wait', tone: 'info' },
  no: { says: 'no message would reach the person now', tone: 'warn' },
  open: { says: 'a message would reach the person, if a request names them', tone: 'neutral' },
};

const CHECKS: Record<DeliveryCheck, string> = {
  campaign: 'Campaign',
  known: 'Devices',
  audience: 'Audience',
  control_group: 'Control group',
  notifications: 'Messages of this campaign',
  profile_values: 'Values of the profile',
  message_limit: "The app's limit",
  quiet_hours: 'Quiet hours',
  current_user: 'User on the device',
  verified: 'Verified user',
  analytics: 'Analytics',
  installed: 'App',
  permission: 'Pushes',
  token: 'Push token',
};

const RESULTS: Record<DeliveryResult, { word: string; tone: Tone }> = {
  passes: { word: 'passes', tone: 'ok' },
  stops: { word: 'stops it', tone: 'warn' },
  waits: { word: 'waits', tone: 'info' },
  open: { word: 'open', tone: 'neutral' },
};

function Explained({ explained }: { explained: ExplainedDelivery }) {
  const { erased, reaches, lines, audience, devices, campaign_type: type, at } = explained;
  if (erased) return <p className="body">erased person</p>;
  const isOpenForOther = reaches === 'open' && type !== 'transactional';
  const { says, tone } = isOpenForOther
    ? { says: 'it can not be said whether a message would reach the person', tone: 'neutral' as const }
    : REACHES[reaches];
  return (
    <div className="tight" role="status">
      <p className="facts">
        <Chip tone={tone}>{says}</Chip>
        <span className="small quiet">
          as of <When at={at} />
        </span>
      </p>
      <Lines lines={lines} />
      {audience !== null && (
        <section aria-label="Audience" className="tight">
          <h3>The audience</h3>
          <MetFilters operator={audience.operator} filters={audience.blocks} />
        </section>
      )}
      {devices.map(({ device_id: id, gets, code, reason, lines: own }) => (
        <section key={id} aria-label={`Device ${id}`} className="tight">
          <h3 className="facts">
            <code className="wraps">{id}</code>
            <Chip tone={gets === 'nothing' ? 'warn' : 'ok'}>{GETS[gets]}</Chip>
          </h3>
          {gets === 'nothing' && (
            <p className="small second">
              {code}: {reason}
            </p>
          )}
          <Lines lines={own} />
        </section>
      ))}
      <SoFar explained={explained} />
    </div>
  );
}

const GETS: Record<ExplainedDelivery['devices'][number]['gets'], string> = {
  push: 'gets the push',
  inapp: 'gets the in-app message',
  both: 'gets push and in-app message',
  nothing: 'gets nothing',
};

function Lines({ lines }: Pick<ExplainedDelivery, 'lines'>) {
  return (
    <ul className="tight">
      {lines.map(({ check, result, found }) => (
        <li key={check} className="facts">
          <Chip tone={RESULTS[result].tone}>{RESULTS[result].word}</Chip>
          <span className="wraps">
            <b>{CHECKS[check]}</b>: {found}
          </span>
        </li>
      ))}
    </ul>
  );
}

function SoFar({ explained: { sent, opened, decisions } }: { explained: ExplainedDelivery }) {
  return (
    <section aria-label="So far" className="tight">
      <h3>So far</h3>
      <p className="small second">
        {sent === 0 ? 'No push of this campaign was sent to the person.' : `${sent} sent, ${opened} opened.`}
      </p>
      <ul className="tight">
        {decisions.map(({ date, device_id: device, code, reason, details, message }) => (
          <li key={`${date} ${device}`} className="tight">
            <span className="facts">
              <When at={date} />
              <Chip tone={codeTone(code)}>{code}</Chip>
              {device !== null && <code className="small wraps">{device}</code>}
            </span>
            <span className="small second">
              {reason}
              {details !== null && `; ${details}`}
            </span>
            {message !== null && (
              <span className="small wraps">
                {message.title !== null && <b>{message.title} </b>}
                {message.body}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
