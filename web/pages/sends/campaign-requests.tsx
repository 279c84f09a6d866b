/** The requests of a transactional campaign, newest first, each with what became of it. */
import { Link } from '@tanstack/react-router';
import type { SendState } from '../../../api/client.ts';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, countText, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { isHeldBack, SendStateChip } from './send-state.tsx';

export function CampaignRequests({ campaign }: { campaign: string }) {
  const missing = useSession().missingFor('listCampaignSends');
  return (
    <Panel
      title="Requests"
      footer={<span>Requests of POST /api/transac of the last 30 days. The counts are those of this moment.</span>}
    >
      {missing.length > 0 ? <p className="body second">{sayMissing(missing)}.</p> : <List campaign={campaign} />}
    </Panel>
  );
}

const PAGE = 20;

function List({ campaign }: { campaign: string }) {
  const read = useList('listCampaignSends', { params: { identifier: campaign }, query: { per_page: PAGE } });
  return (
    <DataTable
      caption="Requests, newest first"
      columns={[
        { title: 'Request', cell: (send) => <Request send={send} /> },
        { title: 'Messages', isNumber: true, cell: ({ messages }) => <Count value={messages} /> },
        { title: 'Confirmed', isNumber: true, cell: ({ sent }) => <Count value={sent.confirmed} /> },
        { title: 'Taken', isNumber: true, cell: ({ sent }) => <Count value={sent.taken} /> },
        { title: 'Unknown', isNumber: true, cell: ({ sent }) => <Count value={sent.unknown} /> },
        { title: 'Refused', isNumber: true, cell: ({ sent }) => <Count value={sent.refused} /> },
      ]}
      rows={read.data?.pages.flatMap(({ items }) => items) ?? []}
      keyOf={({ requestId }) => requestId}
      empty={
        <Empty
          says="No request in the last 30 days. POST /api/transac sends messages of this campaign."
          command={[
            'curl "$MILLRACE_URL/api/transac" -H "Authorization: Token $MILLRACE_TOKEN"',
            `  -H 'Content-Type: application/json'`,
            `  -d '{"campaignKey":"${campaign}","messages":[{"user":"<user id>"}]}'`,
          ].join(' \\\n')}
        />
      }
      more={read}
      pageSize={PAGE}
    />
  );
}

/** Shows a request, and what did not leave, by code; devices count, not messages. */
function Request({ send: { requestId: id, state, received_at: at, codes } }: { send: SendState }) {
  const others = Object.entries(codes).filter(([code]) => isHeldBack(code));
  return (
    <span className="tight id-cell">
      <Link className="mono wraps" to={`/sends/${id}`}>
        {id}
      </Link>
      <span className="facts">
        <SendStateChip state={state} />
        <span className="small">
          <When at={at} />
        </span>
      </span>
      {others.length > 0 && (
        <span className="small second wraps">
          Others: {others.map(([code, count]) => `${countText(count)} ${code}`).join(', ')}
        </span>
      )}
    </span>
  );
}
