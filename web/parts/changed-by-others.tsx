import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

/** Says that someone else saved first, and offers to take over what they saved, or to keep one's own changes. */
export function ChangedByOthers({
  what,
  mine,
  onTheirs,
  onMine,
  children,
}: {
  /** The thing that both change: `sync`. */
  what: string;
  /** The button that keeps one's own changes. */
  mine: string;
  onTheirs: () => void;
  onMine: () => void;
  children?: ReactNode;
}) {
  return (
    <div className="note warn" role="alert">
      <Icon name="branch" />
      <div className="tight">
        <b>Someone else changed this {what} since you opened it. Nothing of yours is lost or saved.</b>
        {children}
        <div className="controls">
          <button type="button" className="btn" onClick={onTheirs}>
            Reload, and drop my changes
          </button>
          <button type="button" className="btn main" onClick={onMine}>
            {mine}
          </button>
        </div>
      </div>
    </div>
  );
}
