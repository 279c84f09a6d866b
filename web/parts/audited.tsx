/** A look that is written into the audit log: it says so first, and begins with a press. */
import { type ReactNode, useState } from 'react';
import { useSession } from '../session/session.tsx';
import type { Called } from './button.tsx';
import { Icon } from './icon.tsx';
import { sayMissing } from './no-right.tsx';

/** Shows `children` once the person has asked for the look of `operation`. */
export function Audited({
  operation,
  of,
  what,
  isAsked: isGiven = false,
  frame = (asks) => asks,
  children,
}: Called & {
  /** Names what is looked at, as in "Reading `these rows` is written into the audit log". */
  what: string;
  /** True: a press before this part was shown has asked for the look, and said what it writes. */
  isAsked?: boolean;
  /** Puts the question into a page. */
  frame?: (asks: ReactNode) => ReactNode;
  children: () => ReactNode;
}) {
  const { missingFor } = useSession();
  const [isAsked, setAsked] = useState(isGiven);
  const missing = missingFor(operation, of);
  if (isAsked) return children();
  if (missing.length > 0) return frame(<p className="body second">{sayMissing(missing)}.</p>);
  return frame(
    <div className="body">
      <p className="second">
        <Icon name="eye" /> Reading {what} is written into the audit log.
      </p>
      <div>
        <button type="button" className="btn" onClick={() => setAsked(true)}>
          Show {what}
        </button>
      </div>
    </div>,
  );
}
