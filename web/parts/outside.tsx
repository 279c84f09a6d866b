/** Faults of outside systems: their words apart from ours, and what to do about them. */
import type { ReactNode } from 'react';
import type { OutsideStatus } from '../../domain/core/outside-status.ts';

const TO_DO: Record<OutsideStatus, string> = {
  address_refused: 'Use another address, or ask the operator of Millrace to allow this one (MILLRACE_FETCH_ALLOW).',
  source_refused: 'Mend it there, or the settings here: the same call fails again.',
  source_unavailable: 'Try again later. If it stays, ask the people who run that system.',
  transfer_broken: 'Try again. If it stays, ask the people who run that system.',
  source_changed: 'It changed while it was read: try again.',
  too_large: 'Make it smaller there.',
};

/** Returns whether a status is of an outside system, or of a call to one. */
export function isOutside(status: string | number | undefined): status is OutsideStatus {
  return status !== undefined && Object.hasOwn(TO_DO, status);
}

/** Shows whose fault it is, in the words of the outside system, then what to do. */
export function OutsideFault({ status, children }: { status: OutsideStatus; children: ReactNode }) {
  return (
    <span className="tight">
      <b>{status === 'address_refused' ? 'Millrace does not call this address' : 'The fault is outside of Millrace'}</b>
      <q>{children}</q>
      <span className="small">{TO_DO[status]}</span>
    </span>
  );
}
