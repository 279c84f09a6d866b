import type { ReactNode } from 'react';
import type { Refusal } from '../session/api.ts';
import { useSession } from '../session/session.tsx';
import { Icon } from './icon.tsx';
import { When } from './values.tsx';

/** Says who saved first, and offers to take over what they saved, or to keep one's own changes. */
export function ChangedByOthers({
  what,
  mine,
  refusal,
  onTheirs,
  onMine,
  children,
}: {
  /** The thing that both change: `sync`. */
  what: string;
  /** The button that keeps one's own changes. */
  mine: string;
  /** The refusal of the own change; null if the page saw the other one before. */
  refusal: Refusal | null;
  onTheirs: () => void;
  onMine: () => void;
  children?: ReactNode;
}) {
  return (
    <div className="note warn" role="alert">
      <Icon name="branch" />
      <div className="tight">
        <b>
          <Change what={what} refusal={refusal} /> Nothing of yours is lost or saved.
        </b>
        {children}
        <div className="controls">
          <button type="button" className="btn" onClick={onTheirs}>
            Show theirs, and drop my changes
          </button>
          <button type="button" className="btn main" onClick={onMine}>
            {mine}
          </button>
        </div>
      </div>
    </div>
  );
}

/** Names the person and the time, if the refusal of the own change has them. */
function Change({ what, refusal }: { what: string; refusal: Refusal | null }) {
  const { session } = useSession();
  const { changed_by: by, changed_at: at } = refusal?.extra ?? {};
  if (typeof by !== 'string' || typeof at !== 'string') return `Someone else changed this ${what} since you opened it.`;
  return (
    <>
      {by === session.user.email ? `You changed this ${what} elsewhere` : `${by} changed this ${what}`},{' '}
      <When at={at} />.
    </>
  );
}
