/** A part of a page with a title: what it shows, or why it can't yet. */
import { type ReactNode, useEffect, useId, useState } from 'react';
import type { Refusal } from '../session/api.ts';
import { Icon } from './icon.tsx';
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
export function Shown<T>({
  result,
  head,
  offers,
  children,
}: {
  result: Result<T>;
  /** Other ways to go on after a refusal. */
  offers?: ReactNode;
  /** Heads a page that can name its object only once the result is there. */
  head?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error } = result;
  return (
    <>
      {data === undefined && head}
      {error && <Unread {...result} refusal={error} offers={offers} />}
      {data === undefined ? error === null && <Skeleton /> : children(data)}
    </>
  );
}

/** Says why reading was refused and, if something was read before, from when it is. */
export function Unread({
  refusal,
  dataUpdatedAt: at,
  refetch,
  offers,
}: Pick<Result<unknown>, 'dataUpdatedAt' | 'refetch'> & { refusal: Refusal; offers?: ReactNode }) {
  return (
    <>
      <Refused refusal={refusal} retry={() => void refetch()}>
        {offers}
      </Refused>
      {at > 0 && (
        <p className="stale small second">
          <Icon name="clock" />
          <span>
            Not up to date. As of <When at={at} />
          </span>
        </p>
      )}
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
