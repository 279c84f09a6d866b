import type { ReactNode } from 'react';
import type { OperationName } from '../session/api.ts';
import { useSession } from '../session/session.tsx';
import { sayMissing } from './no-right.tsx';

/** An operation that a part calls, and what the call is about: a field or type of it can need a further right. */
export type Called = {
  operation: OperationName;
  /** The body or query of the call, or the record. */
  of?: object | undefined;
};

/** A button of an operation: off, with the reason, for a person who may not call it. */
export function ActionButton({
  operation,
  of,
  onPress,
  isBusy = false,
  kind = '',
  children,
}: Called & {
  /** Missing: the button sends its form. */
  onPress?: () => void;
  isBusy?: boolean;
  kind?: '' | 'main' | 'danger' | 'plain';
  children: ReactNode;
}) {
  const { missingFor } = useSession();
  const missing = missingFor(operation, of);
  const isOff = missing.length > 0;
  return (
    <button
      type={onPress ? 'button' : 'submit'}
      className={`btn ${kind}`}
      disabled={isBusy}
      aria-disabled={isOff}
      title={isOff ? sayMissing(missing) : undefined}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onPress?.();
      }}
    >
      {children}
    </button>
  );
}
