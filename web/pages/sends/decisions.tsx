/** The list of a request's messages, one for each device: by code or outcome, and why of one person. */
import { useState } from 'react';
import type { SendState, SentDecision } from '../../../api/client.ts';
import { type AttemptCode, SENT_OUTCOMES, type SentOutcome } from '../../../domain/sends/attempt.ts';
import { Audited } from '../../parts/audited.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { countText } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { Decision, OnDevice } from './decision-cells.tsx';
import { DeliveryWhy } from './delivery-why.tsx';
import { CODES } from './send-state.tsx';

const OUTCOME_WORDS: Record<SentOutcome, string> = {
  confirmed: 'confirmed by the device',
  taken: 'taken by the provider',
  unknown: 'unknown',
  refused: 'refused',
  not_sent: 'no push left',
};

type Filter = { code: AttemptCode | undefined; outcome: SentOutcome | undefined };

function useFilter(): [Filter, (changed: { code?: string | undefined; outcome?: string | undefined }) => void] {
  const [{ code, outcome }, change] = useFilters();
  return [
    {
      code: CODES.find((each) => each === code),
      outcome: SENT_OUTCOMES.find((each) => each === outcome),
    },
    change,
  ];
}

export function Decisions({ send }: { send: SendState }) {
  return (
    <div id="decisions">
      <Panel title="Each person and device">
        <Audited operation="listSendDecisions" what="who got the messages">
          {() => <Asked send={send} />}
        </Audited>
      </Panel>
    </div>
  );
}

function Asked({ send }: { send: SendState }) {
  const [{ code, outcome }, change] = useFilter();
  const read = useList('listSendDecisions', {
    params: { request_id: send.requestId },
    query: { ...(code && { code }), ...(outcome && { outcome }) },
  });
  const [asking, setAsking] = useState<{ user: string; campaign: string } | null>(null);
  const known = CODES.filter((each) => (send.codes[each] ?? 0) > 0 || each === code);
  return (
    <>
      <div className="body">
        <div className="controls">
          <SelectField
            label="Code"
            value={code ?? ''}
            onChange={({ target }) => change({ code: target.value || undefined, outcome: undefined })}
          >
            <option value="">All codes</option>
            {known.map((each) => (
              <option key={each} value={each}>
                {each} ({countText(send.codes[each] ?? 0)})
              </option>
            ))}
          </SelectField>
          <SelectField
            label="Outcome"
            value={outcome ?? ''}
            onChange={({ target }) => change({ outcome: target.value || undefined, code: undefined })}
          >
            <option value="">All outcomes</option>
            {SENT_OUTCOMES.map((each) => (
              <option key={each} value={each}>
                {OUTCOME_WORDS[each]}
              </option>
            ))}
          </SelectField>
        </div>
      </div>
      <DataTable
        caption="Decisions, in the order of the request"
        columns={[
          { title: 'Line', isNumber: true, cell: ({ line }) => <span className="n">{countText(line)}</span> },
          { title: 'Person', cell: (decision) => <Who decision={decision} /> },
          {
            title: 'Decision',
            cell: (decision) => !decision.erased && <Decision of={decision} settled={decision.settled_at} />,
          },
          { title: 'On the device', cell: (decision) => !decision.erased && <OnDevice message={decision} /> },
          { title: 'Why', cell: (decision) => <WhyButton decision={decision} onPress={setAsking} /> },
        ]}
        rows={read.data?.pages.flatMap(({ items }) => items) ?? []}
        keyOf={(row) => `${row.line} ${row.campaign_id} ${row.device_id} ${row.code} ${row.settled_at}`}
        empty={<Empty says="No message has this outcome." />}
        more={read}
      />
      <footer>
        <span>
          <Icon name="eye" /> Each filter and each page is written into the audit log.
        </span>
      </footer>
      {asking !== null && (
        <Dialog title="Why this message or not" onClose={() => setAsking(null)}>
          <DeliveryWhy person={{ user_id: asking.user }} campaign={asking.campaign} />
          <div>
            <button type="button" className="btn" onClick={() => setAsking(null)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Who({ decision: { erased, user, device_id: device } }: { decision: SentDecision }) {
  if (erased || user === null) return <span className="quiet">erased person</span>;
  return (
    <span className="tight id-cell">
      <PersonLink kind="user_id" id={user} />
      {device !== null && <code className="small quiet wraps">{device}</code>}
    </span>
  );
}

function WhyButton({
  decision: { user, campaign_id: campaign },
  onPress,
}: {
  decision: SentDecision;
  onPress: (asked: { user: string; campaign: string }) => void;
}) {
  const mayAsk = useSession().may('explainDelivery');
  if (user === null || !mayAsk) return null;
  return (
    <button type="button" className="btn plain" onClick={() => onPress({ user, campaign })}>
      Why<span className="sr"> {user} got it or not</span>
    </button>
  );
}
