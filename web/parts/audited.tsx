/** A look that is written into the audit log: it says so first, and begins with a press. */
import { type ReactNode, useState } from 'react';
import type { OperationName } from '../session/api.ts';
import { useSession } from '../session/session.tsx';
import { Icon } from './icon.tsx';
import { sayMissing } from './no-right.tsx';

/** Shows `children` once the person has asked for the look of `operation`. */
export function Audited({
  operation,
  what,
  children,
}: {
  operation: OperationName;
  /** Names what is looked at, as in "Reading `these rows` is written into the audit log". */
  what: string;
  children: () => ReactNode;
}) {
  const { missingFor } = useSession();
  const [isAsked, setAsked] = useState(false);
  const missing = missingFor(operation);
  if (isAsked) return children();
  if (missing.length > 0) return <p className="body second">{sayMissing(missing)}.</p>;
  return (
    <div className="body">
      <p className="second">
        <Icon name="eye" /> Reading {what} is written into the audit log.
      </p>
      <div>
        <button type="button" className="btn" onClick={() => setAsked(true)}>
          Show {what}
        </button>
      </div>
    </div>
  );
}
