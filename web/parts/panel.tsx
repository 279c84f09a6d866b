/** A part of a page with a title: what it shows, or why it can't yet. */
import { type ReactNode, useEffect, useId, useState } from 'react';
import type { Refusal } from '../session/api.ts';
import { Refused } from './refusal.tsx';
import { When } from './values.tsx';

export function Panel({
  title,
  end,
  children,
  footer,
}: {
  title: ReactNode;
  end?: ReactNode;
  children: ReactNode;
  footer?: ReactNode;
}) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {end !== undefined && <div className="end">{end}</div>}
      </header>
      {children}
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  );
}

type Result<T> = {
  data: T | undefined;
  error: Refusal | null;
  dataUpdatedAt: number;
  refetch: () => unknown;
};

/** Shows a result, its refusal, or that it is read. What was there stays beside a refusal, with the time it is of. */
export function Shown<T>({ result, children }: { result: Result<T>; children: (data: T) => ReactNode }) {
  const { data, error, dataUpdatedAt, refetch } = result;
  return (
    <>
      {error && <Refused refusal={error} retry={() => void refetch()} />}
      {error && data !== undefined && (
        <p className="small quiet">
          As of <When at={dataUpdatedAt} />
        </p>
      )}
      {data === undefined ? error === null && <Skeleton /> : children(data)}
    </>
  );
}

const LATE_MS = 150;

/** Stands for what is read, once that takes a while. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="body" role="status" aria-label="Loading">
      {isLate && Array.from({ length: rows }, (_, row) => <div key={row} className="skeleton" />)}
    </div>
  );
}

/** Says what would be here, and what to do about it. */
export function Empty({ says, action, command }: { says: ReactNode; action?: ReactNode; command?: string }) {
  return (
    <div className="body empty">
      <p className="second">{says}</p>
      {action}
      {command !== undefined && (
        <pre className="cmd" tabIndex={0}>
          {command}
        </pre>
      )}
    </div>
  );
}
