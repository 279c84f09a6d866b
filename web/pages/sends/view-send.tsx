/** One request: what became of its messages, by outcome and code, and of each person and device. */
import { Link, useParams } from '@tanstack/react-router';
import type { SendState } from '../../../api/client.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../../domain/sends/attempt.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Progress } from '../../parts/progress.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, countText, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { Decisions } from './decisions.tsx';
import { codeTone, hasEnded, isHeldBack, SendStateChip, SentBalanceLine } from './send-state.tsx';

export function ViewSend() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const result = useRead('viewSend', { params: { request_id: id } }, { pollWhile: (send) => !hasEnded(send) });
  return (
    <Shown result={result} head={<Head title="Request" facts={<span className="mono">{id}</span>} />}>
      {(send) => <Request key={send.requestId} send={send} />}
    </Shown>
  );
}

function Request({ send }: { send: SendState }) {
  const { requestId: id, messages, processed, sent } = send;
  return (
    <>
      <Head
        title={<span className="mono wraps">{id}</span>}
        state={<SendStateChip state={send.state} />}
        actions={!hasEnded(send) && <Cancel send={send} />}
        facts={<Facts send={send} />}
      />
      {send.internal_error !== null && (
        <p className="note bad">
          <Icon name="crash" />
          <span>
            An error of Millrace holds the request up since <When at={send.internal_error.since} />. Its log has it
            under <code>{send.internal_error.id}</code>.
          </span>
        </p>
      )}
      {!hasEnded(send) && (
        <Panel title="Progress">
          <div className="body">
            <Progress
              share={messages === 0 ? 1 : processed / messages}
              label="Messages with a result"
              note={`${countText(processed)} of ${countText(messages)}`}
            />
          </div>
        </Panel>
      )}
      <SentBalanceLine sent={sent} to={`/sends/${id}`} />
      <HeldBack send={send} />
      <Decisions send={send} />
      <AsCommand
        operation="listSendDecisions"
        params={{ request_id: id }}
        cli={[`millrace sends view ${id}`, `millrace sends decisions ${id}`]}
        manual="transactional-messages"
      />
    </>
  );
}

function Facts({
  send: { campaigns, messages, received_at: received, send_at: at, ended_at: ended, next_at: next },
}: {
  send: SendState;
}) {
  const mayView = useSession().may('viewCampaign');
  return (
    <>
      <span>
        {countText(messages)} {messages === 1 ? 'message' : 'messages'} of{' '}
        {campaigns.map(({ campaign_id: id, name }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            {mayView ? <Link to={`/campaigns/${id}`}>{name}</Link> : name}
          </span>
        ))}
      </span>
      <span>
        received <When at={received} />
      </span>
      {at !== null && (
        <span>
          for <When at={at} />
        </span>
      )}
      {ended !== null && (
        <span>
          ended <When at={ended} />
        </span>
      )}
      {next !== null && (
        <span>
          the next is due <When at={next} />
        </span>
      )}
    </>
  );
}

function Cancel({ send: { requestId: id, messages, processed, codes } }: { send: SendState }) {
  const cancel = useAction('cancelSend', { changes: ['viewSend', 'listCampaignSends'] });
  const left = messages - processed;
  const waiting = codes['PENDING'] ?? 0;
  return (
    <ConfirmButton
      operation="cancelSend"
      title="Cancel this request?"
      says={
        `${countText(left)} ${left === 1 ? 'message has' : 'messages have'} no result yet, and ` +
        `${countText(waiting)} ${waiting === 1 ? 'push waits' : 'pushes wait'}: these are not sent. What has left stays.`
      }
      yes="Cancel the request"
      sent={cancel}
      onYes={(options) => cancel.mutate({ params: { request_id: id } }, options)}
    >
      Cancel the request
    </ConfirmButton>
  );
}

/** The devices that no push left for, by reason. */
function HeldBack({ send: { codes } }: { send: SendState }) {
  const [, change] = useFilters();
  const others = Object.entries(codes).filter(([code]) => isHeldBack(code)) as [AttemptCode, number][];
  return (
    <Panel title="No push left, by reason">
      <DataTable
        caption="Devices and people for which no push left, by reason"
        columns={[
          {
            title: 'Code',
            cell: ([code]) => (
              <button type="button" className="link" onClick={() => change({ code, outcome: undefined })}>
                <Chip tone={codeTone(code)}>{code}</Chip>
              </button>
            ),
          },
          { title: 'Why', cell: ([code]) => <span className="second">{ATTEMPT_CODES[code]}</span> },
          { title: 'Devices', isNumber: true, cell: ([, count]) => <Count value={count} /> },
        ]}
        rows={others.toSorted(([, one], [, other]) => other - one)}
        keyOf={([code]) => code}
        empty={<Empty says="A push left for each device." />}
      />
    </Panel>
  );
}
