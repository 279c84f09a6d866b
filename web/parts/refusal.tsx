/** A refusal of the server: what is wrong, where, whose fault it is, and what to do. */
import { type ReactNode, useMemo } from 'react';
import { BROKEN_OFF, NOT_SENT, UNREACHABLE } from '../../api/client.ts';
import type { Refusal } from '../session/api.ts';
import { Icon } from './icon.tsx';
import { isOutside, OutsideFault } from './outside.tsx';
import { useSecondsLeft } from './seconds-left.ts';
import { Id } from './values.tsx';

export function Refused({
  refusal,
  nameOf,
  retry,
  children,
}: {
  refusal: Refusal;
  /** Returns what the page calls an element of the body. */
  nameOf?: (element: string) => string;
  retry?: () => void;
  /** Other ways to go on. */
  children?: ReactNode;
}) {
  const { message, status, extra } = refusal;
  const { messages, request_id: requestId } = extra;
  const until = useMemo(() => Date.now() + waitSecondsOf(refusal) * 1_000, [refusal]);
  const seconds = useSecondsLeft(until);
  return (
    <div className="note bad refusal" role="alert">
      <Icon name="crash" />
      <div className="tight">
        {isOutside(status) ? (
          <OutsideFault status={status}>{message}</OutsideFault>
        ) : (
          <b>{nameOf && messages ? saidOf(messages.length) : message}</b>
        )}
        {messages && (
          <ul>
            {messages.map(({ element, message: found }) => (
              <li key={`${element} ${found}`}>
                {nameOf ? <b>{nameOf(element)}</b> : <code>{element}</code>} {found}
              </li>
            ))}
          </ul>
        )}
        {!isOutside(status) && <span className="small">{faultOf(refusal)}</span>}
        {refusal.http === 429 && (
          <span className="small" role="timer">
            {seconds > 0 ? `Again in ${seconds} s.` : 'You can try again now.'}
          </span>
        )}
        {typeof requestId === 'string' && (
          <span className="small">
            Request <Id value={requestId} />
          </span>
        )}
        {retry && refusal.http !== 404 && (
          <button type="button" className="btn" disabled={seconds > 0} onClick={retry}>
            Try again
          </button>
        )}
        {children}
      </div>
    </div>
  );
}

const saidOf = (faults: number): string => (faults === 1 ? 'One thing is not right' : `${faults} things are not right`);

function waitSecondsOf({ http, extra: { retry_after: seconds } }: Refusal): number {
  return http === 429 && typeof seconds === 'number' ? seconds : 0;
}

function faultOf({ http, status }: Refusal): string {
  if (status === UNREACHABLE || status === BROKEN_OFF || status === NOT_SENT)
    return 'Millrace was not reached. What you typed is still here.';
  if (http === 429) return 'Millrace limits calls, and did not execute this one.';
  if (http === 404) return 'It may be deleted or kept no longer, or the id is mistyped. The menu leads to the lists.';
  if (status === 'too_long') return 'Millrace ends what takes that long, so that others get their turn.';
  if (http >= 500) return 'The fault is on the side of Millrace: try again, and report the request if it stays.';
  return 'Nothing was changed.';
}
