import type { ReactNode } from 'react';
import type { OperationName } from '../session/api.ts';
import { useSession } from '../session/session.tsx';
import { sayMissing } from './no-right.tsx';

/** A button of an operation: off, with the reason, for a person who may not call it. */
export function ActionButton({
  operation,
  onPress,
  isBusy = false,
  kind = '',
  children,
}: {
  operation: OperationName;
  onPress: () => void;
  isBusy?: boolean;
  kind?: '' | 'main' | 'danger' | 'plain';
  children: ReactNode;
}) {
  const { missingFor } = useSession();
  const missing = missingFor(operation);
  const isOff = missing.length > 0;
  return (
    <button
      type="button"
      className={`btn ${kind}`}
      disabled={isBusy}
      aria-disabled={isOff}
      title={isOff ? sayMissing(missing) : undefined}
      onClick={() => {
        if (!isOff) onPress();
      }}
    >
      {children}
    </button>
  );
}
