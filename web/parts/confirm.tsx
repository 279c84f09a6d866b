import { type ReactNode, useState } from 'react';
import type { Refusal } from '../session/api.ts';
import { ActionButton, type Called } from './button.tsx';
import { Confirm } from './dialog.tsx';

/** A button of an action that can't be undone, or that others feel: it asks first. */
export function ConfirmButton({
  operation,
  of,
  children,
  title,
  says,
  yes,
  kind = 'danger',
  typed,
  sent,
  onYes,
}: Called & {
  children: ReactNode;
  /** The question. */
  title: string;
  /** The consequence. */
  says: ReactNode;
  /** The words on the button that does it. */
  yes: string;
  /** The look of the button that asks. */
  kind?: 'danger' | 'plain' | '';
  /** A text that the person must type first, such as the name of the object. */
  typed?: string;
  sent: { isPending: boolean; error: Refusal | null; reset: () => void };
  onYes: (options: { onSuccess: () => void }) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <ActionButton
        operation={operation}
        of={of}
        kind={kind}
        onPress={() => {
          sent.reset();
          setOpen(true);
        }}
      >
        {children}
      </ActionButton>
      {isOpen && (
        <Confirm
          title={title}
          says={says}
          action={yes}
          {...(typed === undefined ? {} : { word: typed })}
          isBusy={sent.isPending}
          refusal={sent.error}
          onConfirm={() => onYes({ onSuccess: close })}
          onClose={close}
        />
      )}
    </>
  );
}
