import type { ReactNode } from 'react';

/** How far something has come, as a line that fills. */
export function Progress({ share, label, note }: { share: number; label: string; note?: ReactNode }) {
  return (
    <div className="progress">
      <progress aria-label={label} value={share} max={1} />
      <span className="small second">
        {label}: {Math.floor(share * 100)} %{note !== undefined && <>, {note}</>}
      </span>
    </div>
  );
}
