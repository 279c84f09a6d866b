import type { Campaign } from '../../../api/client.ts';
import { When } from '../../parts/values.tsx';
import { statusOf } from './campaign-state.tsx';

type Shown = Pick<Campaign, 'status' | 'type' | 'start_date' | 'adapt_tz' | 'next_send_at' | 'next_send_until'>;

/** When a campaign sends next, or until when it sends now. */
export function NextSend({ of }: { of: Shown }) {
  const { type, start_date: start, next_send_at: at, next_send_until: until } = of;
  const status = statusOf(of.status);
  if (status === 'draft') return start === null ? <Quiet>at the launch</Quiet> : <When at={start * 1_000} />;
  if (at !== null && at * 1_000 > Date.now())
    return (
      <>
        <When at={at * 1_000} />
        {of.adapt_tz && <Clocks isDynamic={type === 'dynamic'} />}
      </>
    );
  if (at !== null && until !== null)
    return (
      <>
        now, until <When at={until * 1_000} />
        {of.adapt_tz && <Clocks isDynamic />}
      </>
    );
  if (status === 'scheduled' && start !== null) return <When at={start * 1_000} />;
  if (status !== 'ongoing' && status !== 'wait_sync') return <Quiet>–</Quiet>;
  if (type === 'transactional') return <Quiet>by each call</Quiet>;
  return <Quiet>{at === null ? 'none is left' : 'under way'}</Quiet>;
}

function Quiet({ children }: { children: string }) {
  return <span className="quiet">{children}</span>;
}

/** A classic campaign knows the first zone of its devices; a dynamic one counts by the app's. */
function Clocks({ isDynamic }: { isDynamic: boolean }) {
  return (
    <span className="block small quiet">
      {isDynamic
        ? 'in the zone of the app, elsewhere by their own clocks'
        : 'in the first zone, then by their own clocks'}
    </span>
  );
}
